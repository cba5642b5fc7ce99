// One word: its level and why, its exact law, and who else could stand there.

import { useEffect, useRef, useState } from 'preact/hooks'

import { type Explanation, type Settings, type Word, ask } from './api'
import { kindName, levelName, number, percent, reason } from './english'
import { type List, listOf, moved } from './lists'

interface Props {
  text: string
  settings: Settings
  setSettings: (settings: Settings) => void
  number: number
  word: Word
  close: () => void
}

const MOVES: { list: List; label: string; says: string }[] = [
  { list: 'protect', label: 'Protect', says: 'Draw it at random, wherever it stands.' },
  { list: 'ordinary', label: 'Ordinary', says: 'Send it as it is, except one time in a million.' },
  { list: 'keep', label: 'Keep', says: 'Send it as it is, always. No ε covers it.' },
]

export function Details({ text, settings, setSettings, number: at, word, close }: Props) {
  const [explained, setExplained] = useState<Explanation>()
  const [problem, setProblem] = useState<string>()
  const heading = useRef<HTMLHeadingElement>(null)
  const original = text.slice(word.start, word.end)
  const list = listOf(settings, original)

  useEffect(() => {
    const stop = new AbortController()
    const body = { text, settings, word: at, released: word.released ?? null }
    ask<Explanation>('explain', body, stop.signal).then(setExplained, (error) => {
      if (!stop.signal.aborted) setProblem((error as Error).message)
    })
    return () => stop.abort()
  }, [text, settings, at, word.released])
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])

  const isWord = word.kind === 'word'
  return (
    <section
      class="card details"
      aria-labelledby="details"
      onKeyDown={(event) => {
        if (event.key === 'Escape') close()
      }}
    >
      <div class="head">
        <h2 id="details" tabIndex={-1} ref={heading}>
          {original}
          {word.released !== undefined && word.released !== original && <> → {word.released}</>}
        </h2>
        <button type="button" onClick={close} aria-label="Close the details">
          Close
        </button>
      </div>
      <p>
        <span class={`unit ${word.level}`}>{levelName[word.level]}</span> because it is {reason(word)}.{' '}
        {!isWord && <>That it is {kindName(word.kind)} can be seen in the release.</>}
      </p>
      <div class="buttons" role="group" aria-label="Put this word on a list">
        {MOVES.filter(({ list }) => isWord || list === 'keep').map(({ list: to, label, says }) => (
          <button
            key={to}
            type="button"
            aria-pressed={list === to}
            title={says}
            onClick={() => setSettings(moved(settings, original, list === to ? undefined : to))}
          >
            {label}
          </button>
        ))}
        <span class="quiet">
          {list
            ? MOVES.find((move) => move.list === list)?.says
            : 'Decide yourself: the word goes on your list and is not saved unless you ask for it.'}
        </span>
      </div>
      {problem && <p class="problem">{problem}</p>}
      {explained ? <Law explained={explained} word={word} /> : <p class="quiet">…</p>}
    </section>
  )
}

function Law({ explained, word }: { explained: Explanation; word: Word }) {
  const { law, candidates, others } = explained
  if (word.level === 'kept') return <p>It is sent as you wrote it. No ε covers it.</p>
  if (!law) {
    return (
      <p>
        It is replaced by a random one of a fixed shape, whatever it was. The release says nothing about it: the loss
        is 0.
      </p>
    )
  }
  const top = candidates[0]?.probability ?? 0
  return (
    <div class="law">
      <div>
        <h3>What it can become</h3>
        <p>
          {word.level === 'ordinary' ? (
            <>It stays itself with {percent(top)}; every one of the {number(law.ranks, 0)} listed words is possible.</>
          ) : (
            <>
              One of its {number(law.k, 0)} nearest with {percent(law.near)}, each alike; any of the{' '}
              {number(law.ranks, 0)} {explained.kind === 'word' ? 'substitutes' : 'values'} otherwise. ε₁ ={' '}
              {number(law.epsilon)}.
            </>
          )}{' '}
          {!explained.listed && 'The word itself is on no list and cannot be drawn.'}
        </p>
        <div class="scroll" tabIndex={0} role="region" aria-label="Candidates">
          <table>
            <thead>
              <tr>
                <th scope="col">rank</th>
                <th scope="col">becomes</th>
                <th scope="col">similarity</th>
                <th scope="col">probability</th>
              </tr>
            </thead>
            <tbody>
              {candidates.map((candidate) => (
                <tr key={candidate.rank} class={candidate.released === word.released ? 'drawn' : ''}>
                  <td>{number(candidate.rank, 0)}</td>
                  <td>{candidate.released}</td>
                  <td>{candidate.similarity === null ? '' : candidate.similarity.toFixed(3)}</td>
                  <td>{percent(candidate.probability)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {explained.kind === 'word' && (
          <p class="quiet">
            Candidates are ordered by similarity to this word alone. The words around it play no part, so nothing is
            said about it by what became of them.
          </p>
        )}
      </div>
      {others && (
        <div>
          <h3>Who else could stand there</h3>
          <p>
            “{others.released}” could have come from any word. From these it comes with the probability shown, computed
            exactly; from every other protected word still with at least e<sup>−{number(law.epsilon)}</sup> times that of yours.
          </p>
          <ul class="others">
            {others.words.map(({ word, probability }) => (
              <li key={word}>
                <span>{word}</span> <span class="quiet">{percent(probability)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  )
}
