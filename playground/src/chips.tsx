// A text with its words as chips, in the text's own layout. One tab stop for all of them: the arrow keys
// go from word to word.

import { useRef, useState } from 'preact/hooks'

import type { Word } from './api'
import { levelName, reason } from './english'

interface Props {
  text: string
  words: Word[]
  label: string
  chosen?: number | undefined
  choose?: (number: number) => void
  /** Whether originals are shown beside what took their place. */
  both?: boolean
}

function style(word: Word, original: string): string {
  if (word.level !== 'protected' || word.released === undefined) return word.level
  return word.released.toLowerCase() === original.toLowerCase() ? 'itself' : 'replaced'
}

function says(word: Word, original: string): string {
  const why = `${levelName[word.level]}: ${reason(word)}`
  if (word.released === undefined || word.level !== 'protected') return `${original}. ${why}`
  const became = style(word, original) === 'itself' ? 'drawn as itself' : `for ${original}`
  return `${word.released}, ${became}. ${why}`
}

export function Chips({ text, words, label, chosen, choose, both }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const [stop, setStop] = useState(0)
  const focus = Math.min(stop, words.length - 1)

  const go = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? words.length - 1 : by && focus + by
    if (to === undefined || to < 0 || to >= words.length) return
    event.preventDefault()
    setStop(to)
    box.current?.querySelectorAll('button')[to]?.focus()
  }

  const parts = []
  let at = 0
  words.forEach((word, i) => {
    const original = text.slice(word.start, word.end)
    parts.push(text.slice(at, word.start))
    at = word.end
    const of = style(word, original)
    const shown = word.released ?? original
    parts.push(
      choose ? (
        <button
          key={i}
          type="button"
          class={`unit ${of}`}
          tabIndex={i === focus ? 0 : -1}
          aria-label={says(word, original)}
          aria-pressed={chosen === i}
          onFocus={() => setStop(i)}
          onClick={() => choose(i)}
        >
          {both && of === 'replaced' && <s>{original}</s>}
          {shown}
        </button>
      ) : (
        <span key={i} class={`unit ${of}`}>
          {shown}
        </span>
      ),
    )
  })
  parts.push(text.slice(at))
  return (
    <div class="chips" ref={box} role="group" aria-label={label} onKeyDown={choose ? go : undefined}>
      {parts}
    </div>
  )
}

export function Legend({ released }: { released: boolean }) {
  return (
    <ul class="legend" aria-label="Legend">
      <li>
        <span class="unit ordinary">ordinary</span> sent as it is
      </li>
      {released ? (
        <>
          <li>
            <span class="unit replaced">replaced</span> drawn at random
          </li>
          <li>
            <span class="unit itself">itself</span> drawn, and the draw fell on the word itself
          </li>
        </>
      ) : (
        <li>
          <span class="unit protected">protected</span> will be drawn at random
        </li>
      )}
      <li>
        <span class="unit kept">kept</span> sent as it is, because you said so
      </li>
    </ul>
  )
}
