// ε₁ and k as sliders, with what they mean in words and as a picture.

import { useEffect, useState } from 'preact/hooks'

import { type Guess, type LawNumbers, type Plan, type Release, type Settings, ask } from './api'
import { LawChart } from './chart'
import { number, percent, plural } from './english'

interface Props {
  settings: Settings
  setSettings: (settings: Settings) => void
  plan: Plan | undefined
  text: string
  release: Release | undefined
  guesses: boolean
}

/** k goes in steps that grow with it. */
const STEPS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000]
const nearest = (k: number) => STEPS.reduce((best, step, i) => (Math.abs(Math.log(step / k)) < Math.abs(Math.log(STEPS[best]! / k)) ? i : best), 0)

export function Understand({ settings, setSettings, plan, text, release, guesses }: Props) {
  const [law, setLaw] = useState<LawNumbers>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    const stop = new AbortController()
    ask<LawNumbers>('law', { settings }, stop.signal).then(
      (law) => {
        setLaw(law)
        setProblem(undefined)
      },
      (error) => {
        if (!stop.signal.aborted) setProblem((error as Error).message)
      },
    )
    return () => stop.abort()
  }, [settings])

  return (
    <section class="card understand" aria-label="Understand">
      <h2>How private, how useful</h2>
      <div class="two">
        <div>
          <Slider
            id="epsilon"
            label="ε₁, between any two protected words"
            value={settings.epsilon}
            shown={number(settings.epsilon)}
            min={0.5}
            max={16}
            step={0.5}
            ends={['more private', 'more useful']}
            set={(epsilon) => setSettings({ ...settings, epsilon })}
          />
          <Slider
            id="k"
            label="k, how many near words it mostly becomes"
            value={nearest(settings.k)}
            shown={number(settings.k, 0)}
            min={0}
            max={STEPS.length - 1}
            step={1}
            ends={['nearer words', 'more words to hide among']}
            set={(step) => setSettings({ ...settings, k: STEPS[step]! })}
          />
          {problem && <p class="problem">{problem}</p>}
          {law && <Meaning law={law} settings={settings} plan={plan} />}
        </div>
        {law && (
          <figure>
            <LawChart law={law} k={settings.k} />
            <figcaption class="quiet">
              The law of one protected word. It is the same for every word, which is why it can be proven.
            </figcaption>
          </figure>
        )}
      </div>
      {guesses && <Guesses text={text} settings={settings} release={release} />}
    </section>
  )
}

interface SliderProps {
  id: string
  label: string
  value: number
  shown: string
  min: number
  max: number
  step: number
  ends: [string, string]
  set: (value: number) => void
}

function Slider({ id, label, value, shown, min, max, step, ends, set }: SliderProps) {
  return (
    <div class="slider">
      <label for={id}>
        {label}: <output for={id}>{shown}</output>
      </label>
      <input
        id={id}
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-valuetext={shown}
        onInput={(event) => set(Number(event.currentTarget.value))}
      />
      <div class="ends quiet" aria-hidden="true">
        <span>{ends[0]}</span>
        <span>{ends[1]}</span>
      </div>
    </div>
  )
}

function Meaning({ law, settings, plan }: { law: LawNumbers; settings: Settings; plan: Plan | undefined }) {
  return (
    <ul class="meaning" data-testid="meaning">
      <li>
        A protected word <strong>stays itself with {percent(law.kept)}</strong> and becomes one of its{' '}
        {number(settings.k, 0)} nearest with {percent(law.near)}. The rest falls on any of the {number(law.ranks, 0)}{' '}
        listed words.
      </li>
      <li>
        Somebody who must <strong>decide between two given words</strong>, equally likely beforehand, is right in at
        most <strong>{percent(law.guessed)}</strong> of the cases by one draw.
      </li>
      <li>
        The loss is ε₁ = {number(law.epsilon_protected)} for a protected word and ε = {number(law.epsilon_any)} for any
        word, ordinary ones included. The second is a formality and does not protect ordinary words.
      </li>
      {plan && (
        <li>
          This prompt in all: {plural(plan.privacy.draws, 'draw')} × {number(plan.privacy.epsilon_any)} ={' '}
          {number(plan.privacy.epsilon_prompt)}.
        </li>
      )}
      {law.kept > 0.5 && (
        <li>
          <strong class="warn">With these settings most protected words stay as they are.</strong>
        </li>
      )}
    </ul>
  )
}

/** What an attacker guesses who knows everything but the prompt. */
function Guesses({ text, settings, release }: { text: string; settings: Settings; release: Release | undefined }) {
  const [found, setFound] = useState<{ of: Release; guesses: Guess[] }>()
  const [state, setState] = useState<'idle' | 'busy'>('idle')
  const [problem, setProblem] = useState<string>()
  const attack = async (release: Release) => {
    setState('busy')
    try {
      const released = release.words.map((word) => word.released)
      const { guesses } = await ask<{ guesses: Guess[] }>('guesses', { text, settings, released })
      setFound({ of: release, guesses })
      setProblem(undefined)
    } catch (error) {
      setProblem((error as Error).message)
    }
    setState('idle')
  }
  const shown = found && found.of === release ? found.guesses : undefined
  const right = shown?.filter((guess) => guess.right).length ?? 0
  const left = release?.words.filter((word) => word.level === 'protected' && word.kind !== 'word').length ?? 0
  return (
    <div class="guesses">
      <h3>What would an attacker guess?</h3>
      <p>
        One who knows Cape to the last bit, reads all ordinary words of the release and has a language model to say what
        is likely between them, guesses the most probable word for each protected one (the exact Bayes guess).
      </p>
      <button type="button" disabled={!release || state === 'busy'} onClick={() => release && attack(release)}>
        {state === 'busy' ? 'Guessing …' : 'Attack this release'}
      </button>
      {!release && <span class="quiet"> Release the prompt first.</span>}
      {problem && <p class="problem">{problem}</p>}
      {release && shown && (
        <>
          <p role="status">
            <strong>
              {right} of {plural(shown.length, 'protected word')} guessed.
            </strong>
            {left > 0 && ` ${plural(left, 'number, date or address', 'numbers, dates and addresses')} left out: the model expects nothing of them.`}
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-label="Guesses">
            <table>
              <thead>
                <tr>
                  <th scope="col">you wrote</th>
                  <th scope="col">it became</th>
                  <th scope="col">the attacker guesses</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((guess) => {
                  const word = release.words[guess.word]!
                  return (
                    <tr key={guess.word} class={guess.right ? 'found' : ''}>
                      <td>{text.slice(word.start, word.end)}</td>
                      <td>{word.released}</td>
                      <td>
                        {guess.guess ?? 'nothing'}
                        {guess.right ? ' (right)' : ''}
                        {guess.exact ? '' : ' (not all words were tried)'}
                      </td>
                    </tr>
                  )
                })}
              </tbody>
            </table>
          </div>
        </>
      )}
    </div>
  )
}
