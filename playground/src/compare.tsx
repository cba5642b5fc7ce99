// The same text by profiles, and by other ways of hiding words.

import { useEffect, useState } from 'preact/hooks'

import { type Compared, type Plan, type Profile, type Release, type Settings, ask } from './api'
import { Chips } from './chips'
import { number, percent, plural, profiles } from './english'

interface Props {
  text: string
  settings: Settings
  setSettings: (settings: Settings) => void
  release: Release | undefined
  paper: boolean
}

export function Compare(props: Props) {
  return (
    <section class="card" aria-label="Side by side">
      <h2>Side by side</h2>
      <Profiles {...props} />
      <Mechanisms {...props} />
    </section>
  )
}

function Profiles({ text, settings, setSettings }: Props) {
  const [plans, setPlans] = useState<{ of: string; plans: Partial<Record<Profile, Plan>> }>({ of: '', plans: {} })
  useEffect(() => {
    const stop = new AbortController()
    // after the typing, so that the plan above never waits for these
    const timer = setTimeout(async () => {
      const found: Partial<Record<Profile, Plan>> = {}
      try {
        for (const { name } of profiles) {
          found[name] = await ask<Plan>('plan', { text, settings: { ...settings, profile: name } }, stop.signal)
        }
        setPlans({ of: text, plans: found })
      } catch {
        // the plan above says what is wrong
      }
    }, 400)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text, settings])
  return (
    <>
      <h3>Profiles</h3>
      <div class="three">
        {profiles.map(({ name, title, says }) => {
          const plan = plans.of === text ? plans.plans[name] : undefined
          return (
            <article key={name} class={settings.profile === name ? 'on' : ''}>
              <h4>{title}</h4>
              <p class="quiet">{says}</p>
              {plan && <Chips text={text} words={plan.words} label={`Plan of the profile ${title}`} />}
              <p>{plan ? `${number(plan.privacy.protected, 0)} of ${plural(plan.privacy.words, 'word')} protected` : '…'}</p>
              <button
                type="button"
                aria-pressed={settings.profile === name}
                aria-label={settings.profile === name ? `In use: the profile ${title}` : `Use the profile ${title}`}
                onClick={() => setSettings({ ...settings, profile: name })}
              >
                {settings.profile === name ? 'In use' : 'Use'}
              </button>
            </article>
          )
        })}
      </div>
    </>
  )
}

/** The text with its protected words blacked out, as tools do that mask what they recognise. */
function masked(text: string, release: Release): string {
  let [out, at] = ['', 0]
  for (const word of release.words) {
    out += text.slice(at, word.start)
    out += word.level === 'protected' ? `[${word.kind.toUpperCase()}]` : text.slice(word.start, word.end)
    at = word.end
  }
  return out + text.slice(at)
}

function Mechanisms({ text, release, paper }: Props) {
  const [drawn, setDrawn] = useState<{ of: string; paper: Compared }>()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const compare = async () => {
    setBusy(true)
    try {
      setDrawn({ of: text, paper: await ask<Compared>('paper', { text }) })
      setProblem(undefined)
    } catch (error) {
      setProblem((error as Error).message)
    }
    setBusy(false)
  }
  const { privacy } = release ?? {}
  const shown = drawn && drawn.of === text ? drawn.paper : undefined
  return (
    <>
      <h3>Other ways</h3>
      <div class="three">
        <article>
          <h4>Cape</h4>
          <p class="sent">{release ? release.text : 'Release the prompt to see it here.'}</p>
          <p>
            <strong>Proven:</strong>{' '}
            {privacy
              ? `ε₁ = ${number(privacy.epsilon_protected)} between any two protected words and ${number(privacy.epsilon_any)} between any two, so even a word that the rule misses has a bound. A protected word stays itself with at most ${percent(privacy.most_kept)}${privacy.most_kept_value === undefined ? '' : `, a number, date, time or weekday with ${percent(privacy.most_kept_value)}`}.`
              : 'ε₁ between any two protected words, and a larger ε between any two.'}
          </p>
        </article>
        <article>
          <h4>Masking</h4>
          <p class="sent">{release ? masked(text, release) : 'Release the prompt to see it here.'}</p>
          <p>
            <strong>Proven: nothing.</strong> The masked words themselves do not leave. That they were masked shows for
            certain, and a word that the rule misses is sent as it is. A model has less to work with.
          </p>
        </article>
        {paper && (
          <article>
            <h4>The paper’s mechanism</h4>
            <p class="sent">{shown ? shown.text : 'Pieces of words, drawn by context and meaning.'}</p>
            {shown ? (
              <p>
                <strong>Proven:</strong> a loss of at most {number(shown.bound)} for a token, where ε ={' '}
                {number(shown.epsilon)} was asked for ({shown.notion}, {shown.evidence}). A rare word has several tokens,
                and how many can be seen.
              </p>
            ) : (
              <p>
                <button type="button" disabled={busy || !text.trim()} onClick={compare}>
                  {busy ? 'Drawing …' : 'Draw one to compare'}
                </button>
              </p>
            )}
            {problem && <p class="problem">{problem}</p>}
            <p class="quiet">To look at, not to send: a second release of the same prompt adds to the first.</p>
          </article>
        )}
      </div>
    </>
  )
}
