// The page: it holds what was typed and chosen, and asks the server what becomes of it.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

import { type Plan, Refused, type Release, type Session, type Settings, type Start, ask, setToken } from './api'
import { Compare } from './compare'
import { Details } from './details'
import { number, plural } from './english'
import { examples } from './examples'
import { LedgerView } from './ledger'
import { Lists } from './lists'
import { Try } from './try'
import { Understand } from './understand'
import { Write } from './write'

export function App() {
  const [start, setStart] = useState<Start>()
  const [locked, setLocked] = useState<string>()
  const [problem, setProblem] = useState<string>()

  const begin = useCallback(async () => {
    try {
      setStart(await ask<Start>('start', {}))
      setLocked(undefined)
      setProblem(undefined)
    } catch (error) {
      if (error instanceof Refused && error.status === 401) setLocked(error.message)
      else setProblem((error as Error).message)
    }
  }, [])
  useEffect(() => void begin(), [])

  return (
    <>
      <header class="top">
        <img src="icon.svg" alt="" width="28" height="28" />
        <h1>Cape playground</h1>
        <p class="stays">
          <strong>See what leaves before it leaves.</strong> Nothing on this page leaves your machine
          {start?.upstream ? ' until you press Send' : ''}.
        </p>
      </header>
      <main>
        {problem && <Problem text={problem} retry={begin} />}
        {locked !== undefined && <Unlock message={locked} begin={begin} />}
        {start && <Bench start={start} />}
      </main>
      <footer>
        <p>
          <strong>What leaks anyway:</strong> ordinary words, punctuation and layout, how many words there are,
          which of them are equal, and what is a number or an address. ε is the measure of local differential
          privacy: a release changes the odds between two words that you might have written by at most a factor of
          e<sup>ε</sup>. Smaller is more private.
        </p>
        {start && <p class="quiet">Cape {start.version}. No cookies, no storage, no other server.</p>}
      </footer>
    </>
  )
}

function Problem({ text, retry }: { text: string; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <span>{text}</span>
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  )
}

/** Where the page can be reached from other machines, it asks for the operator's token. */
function Unlock({ message, begin }: { message: string; begin: () => void }) {
  const [given, setGiven] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    setToken(given)
    begin()
  }
  return (
    <form class="card unlock" onSubmit={submit}>
      <label for="token">Token of this proxy</label>
      <input id="token" type="password" autocomplete="off" value={given} onInput={(e) => setGiven(e.currentTarget.value)} />
      <button class="main">Open</button>
      <p class="quiet">{message}</p>
    </form>
  )
}

/** Everything once the server has told its settings. */
function Bench({ start }: { start: Start }) {
  const [text, setText] = useState(examples[0]!.text)
  const [settings, setSettings] = useState<Settings>(start.settings)
  const [plan, setPlan] = useState<{ of: string; plan: Plan }>()
  const [release, setRelease] = useState<{ of: string; settings: Settings; release: Release }>()
  const [session, setSession] = useState<Session>(start.session)
  const [chosen, setChosen] = useState<number>()
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  const asked = useRef<AbortController | undefined>(undefined)

  // the plan follows every key stroke; an answer that comes late is not shown
  useEffect(() => {
    asked.current?.abort()
    const mine = (asked.current = new AbortController())
    performance.mark('cape-asked')
    ask<Plan>('plan', { text, settings }, mine.signal).then(
      (plan) => {
        if (mine.signal.aborted) return
        setPlan({ of: text, plan })
        setProblem(undefined)
      },
      (error) => {
        if (!mine.signal.aborted) setProblem((error as Error).message)
      },
    )
    return () => mine.abort()
  }, [text, settings, session])
  useEffect(() => {
    if (plan) performance.measure('cape-plan', 'cape-asked')
  }, [plan])

  const type = (text: string) => {
    setText(text)
    setChosen(undefined)
  }

  const draw = async (fresh: boolean) => {
    setBusy(true)
    try {
      const drawn = await ask<Release>('release', { text, settings, fresh })
      setRelease({ of: text, settings, release: drawn })
      setSession(drawn.session)
      setProblem(undefined)
    } catch (error) {
      setProblem((error as Error).message)
    }
    setBusy(false)
  }

  // the keyboard goes on where it came from
  const close = () => {
    setChosen(undefined)
    document.querySelector<HTMLElement>('.write .chips [tabindex="0"]')?.focus()
  }

  // what was drawn belongs to that text and those settings alone
  const current = release && release.of === text && release.settings === settings ? release.release : undefined
  const shown = plan?.of === text ? plan.plan : undefined
  const word = chosen !== undefined ? (current ?? shown)?.words[chosen] : undefined

  return (
    <>
      {problem && <Problem text={problem} />}
      <Write
        text={text}
        type={type}
        plan={shown ?? plan?.plan}
        stale={!shown}
        release={current}
        settings={settings}
        setSettings={setSettings}
        upstream={start.upstream}
        busy={busy}
        draw={draw}
        chosen={chosen}
        choose={setChosen}
      />
      {word && chosen !== undefined && (
        <Details
          key={`${chosen} ${current ? 'released' : 'planned'}`}
          text={text}
          settings={settings}
          setSettings={setSettings}
          number={chosen}
          word={word}
          close={close}
        />
      )}
      <p class="session" role="status">
        Since Cape started: {plural(session.draws, 'draw')} in {plural(session.maps, 'map')}, ε ={' '}
        {number(session.epsilon)} in all.
      </p>
      {start.upstream && <Try upstream={start.upstream} extractor={start.extractor} release={current} />}
      <Lists settings={settings} setSettings={setSettings} file={start.file} />
      <Understand settings={settings} setSettings={setSettings} plan={shown} text={text} release={current} guesses={start.attack} />
      <Compare text={text} settings={settings} setSettings={setSettings} release={current} paper={start.paper} />
      {start.ledger && <LedgerView />}
    </>
  )
}
