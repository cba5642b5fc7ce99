// The release goes to the service, and never the prompt.

import { useState } from 'preact/hooks'

import { type Release, ask } from './api'

interface Answered {
  sent: string
  answer: string
  restored: string
  put_back: number
  rewritten: string | null
}

interface Props {
  upstream: string
  extractor: boolean
  release: Release | undefined
}

export function Try({ upstream, extractor, release }: Props) {
  const [model, setModel] = useState('')
  const [key, setKey] = useState('')
  const [answered, setAnswered] = useState<{ of: Release; answer: Answered }>()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const send = async (event: Event) => {
    event.preventDefault()
    if (!release) return
    setBusy(true)
    try {
      setAnswered({ of: release, answer: await ask<Answered>('send', { model, key, release: release.text }) })
      setProblem(undefined)
    } catch (error) {
      setProblem((error as Error).message)
    }
    setBusy(false)
  }
  const shown = answered && answered.of === release ? answered.answer : undefined
  return (
    <section class="card" aria-label="Try it">
      <h2>Try it</h2>
      <form class="buttons" onSubmit={send}>
        <label>
          Model <input value={model} required autocomplete="off" onInput={(e) => setModel(e.currentTarget.value)} />
        </label>
        <label>
          API key{' '}
          <input type="password" value={key} autocomplete="off" onInput={(e) => setKey(e.currentTarget.value)} />
        </label>
        <button class="main" disabled={!release || busy}>
          {busy ? 'Sending …' : 'Send the release'}
        </button>
      </form>
      <p class="quiet">
        {release ? `The release above goes to ${upstream}. Your prompt does not.` : 'Release the prompt first.'} The key is
        passed on and not stored.
      </p>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {shown && (
        <div class="three" role="status">
          <article>
            <h3>What went out</h3>
            <p class="sent">{shown.sent}</p>
          </article>
          <article>
            <h3>The answer</h3>
            <p class="sent">{shown.answer}</p>
          </article>
          <article>
            <h3>With your names put back</h3>
            <p class="sent">{shown.restored}</p>
            <p class="quiet">{shown.put_back} put back, on your machine.</p>
          </article>
          {extractor && shown.rewritten !== null && (
            <article>
              <h3>Rewritten by your own model</h3>
              <p class="sent">{shown.rewritten}</p>
            </article>
          )}
        </div>
      )}
    </section>
  )
}
