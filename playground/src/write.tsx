// The prompt on one side; on the other its plan while one types, and its release once it is drawn.

import { useState } from 'preact/hooks'

import type { Plan, Release, Settings } from './api'
import { Chips, Legend } from './chips'
import { Copy, curl, toml } from './copy'
import { number, plural, profiles } from './english'
import { examples } from './examples'

interface Props {
  text: string
  type: (text: string) => void
  plan: Plan | undefined
  /** Whether the plan is that of an earlier text. */
  stale: boolean
  release: Release | undefined
  settings: Settings
  setSettings: (settings: Settings) => void
  upstream: string | null
  busy: boolean
  draw: (fresh: boolean) => void
  chosen: number | undefined
  choose: (number: number) => void
}

export function Write(props: Props) {
  const { text, type, plan, stale, release, settings, setSettings, busy, draw } = props
  const [both, setBoth] = useState(false)
  const shown = release ?? plan
  return (
    <section class="write" aria-label="Write">
      <div class="card">
        <div class="head">
          <h2>
            <label for="prompt">Your prompt</label>
          </h2>
          <label class="quiet">
            Example{' '}
            <select
              value={examples.findIndex((example) => example.text === text)}
              onChange={(event) => {
                const example = examples[Number(event.currentTarget.value)]
                if (example) type(example.text)
              }}
            >
              <option value="-1">your own</option>
              {examples.map((example, i) => (
                <option key={i} value={i}>
                  {example.title}
                </option>
              ))}
            </select>
          </label>
        </div>
        <textarea
          id="prompt"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => type(event.currentTarget.value)}
          placeholder="Write a prompt as you would send it."
        />
        <label class="quiet">
          Profile{' '}
          <select
            value={settings.profile}
            onChange={(event) => setSettings({ ...settings, profile: event.currentTarget.value as Settings['profile'] })}
          >
            {profiles.map((profile) => (
              <option key={profile.name} value={profile.name}>
                {profile.title}
              </option>
            ))}
          </select>{' '}
          {profiles.find((profile) => profile.name === settings.profile)?.says}
        </label>
      </div>
      <div class="card">
        <div class="head">
          <h2>{release ? 'What would be sent' : 'What will happen to it'}</h2>
          {release && (
            <label class="quiet">
              <input type="checkbox" checked={both} onChange={(event) => setBoth(event.currentTarget.checked)} /> show
              originals
            </label>
          )}
        </div>
        {shown && shown.words.length > 0 && !(stale && !release) ? (
          <Chips
            text={text}
            words={shown.words}
            label={release ? 'The release, word by word' : 'The plan, word by word'}
            chosen={props.chosen}
            choose={props.choose}
            both={both}
          />
        ) : (
          <p class="chips quiet">{text.trim() ? text : 'Words appear here while you type. Nothing is drawn yet.'}</p>
        )}
        <Legend released={!!release} />
        {release ? <Released {...props} release={release} /> : <Planned plan={plan} draw={draw} busy={busy} />}
      </div>
    </section>
  )
}

/** The cost before anything is drawn. */
function Planned({ plan, draw, busy }: { plan: Plan | undefined; draw: (fresh: boolean) => void; busy: boolean }) {
  const empty = !plan || plan.words.length === 0
  return (
    <div class="act">
      <button class="main" type="button" disabled={empty || busy} onClick={() => draw(false)}>
        Release
      </button>
      <div>
        {plan && !empty ? (
          <>
            <Cost plan={plan} />
            <p class="quiet">Nothing is drawn before you press Release. Click a word to see what it can become.</p>
          </>
        ) : (
          <p class="quiet">Write something first.</p>
        )}
      </div>
    </div>
  )
}

function Cost({ plan }: { plan: Plan }) {
  const { privacy, fresh } = plan
  const same = privacy.draws - fresh
  return (
    <p data-testid="cost">
      <strong>
        {plural(privacy.words, 'word')}, {number(privacy.protected, 0)} of them protected.
      </strong>{' '}
      ε₁ = {number(privacy.epsilon_protected)} between any two protected words, ε = {number(privacy.epsilon_any)}{' '}
      between any two. A release costs {plural(fresh, 'draw')} × {number(privacy.epsilon_any)} ={' '}
      <strong>{number(fresh * privacy.epsilon_any)}</strong>
      {same > 0 && `; ${plural(same, 'word')} drawn before become${same === 1 ? 's' : ''} the same again, at no cost`}.
      {privacy.protected === 0 && (
        <strong class="warn"> No word of this prompt is protected: it would be sent as it is.</strong>
      )}
    </p>
  )
}

/** A release, what it may be used for, and the price of another. */
function Released({ release, settings, upstream, draw, busy }: Props & { release: Release }) {
  const [asking, setAsking] = useState(false)
  const { privacy } = release
  const another = (
    <div class="again" role="alertdialog" aria-label="Draw again?">
      <p>
        Another draw of this prompt makes {plural(privacy.draws, 'new draw')} and costs{' '}
        <strong>ε = {number(privacy.epsilon_prompt)}</strong> more. A protected word will have spent{' '}
        {number(release.most_spent + privacy.epsilon_protected)} instead of {number(release.most_spent)}.{' '}
        <strong>Drawing again until you like it voids the promise</strong>: which draw you choose tells something that
        no ε counts.
      </p>
      <button
        type="button"
        disabled={busy}
        onClick={() => {
          setAsking(false)
          draw(true)
        }}
      >
        Draw again, and count it
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Keep this one
      </button>
    </div>
  )
  return (
    <div class="act released">
      <p role="status">
        <strong>Drawn once, with your system’s randomness.</strong> A word becomes the same in all your releases until
        you draw again; that two releases share a word can be seen.
        {release.most_spent > privacy.epsilon_protected + 1e-9 && (
          <strong class="warn">
            {' '}
            One of these words was drawn more than once: whoever sees all draws of it is held back by{' '}
            {number(release.most_spent)} only, not {number(privacy.epsilon_protected)}.
          </strong>
        )}
      </p>
      <div class="buttons">
        <Copy label="Copy release" text={() => release.text} />
        <Copy label="Copy curl" text={() => curl(release.text, upstream)} />
        <Copy label="Copy cape.toml" text={() => toml(settings)} />
        {!asking && (
          <button type="button" onClick={() => setAsking(true)}>
            Draw again …
          </button>
        )}
      </div>
      {asking && another}
    </div>
  )
}
