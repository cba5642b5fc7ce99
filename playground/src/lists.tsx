// The user's own lists. They live in this page until they are saved.

import { useState } from 'preact/hooks'

import { type Settings, ask } from './api'
import { Copy, toml } from './copy'

export type List = 'protect' | 'ordinary' | 'keep'
const LISTS: List[] = ['protect', 'ordinary', 'keep']
const TITLES: Record<List, string> = { protect: 'Always protected', ordinary: 'Ordinary', keep: 'Kept as they are' }

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

/** The list that a word is on. */
export function listOf(settings: Settings, word: string): List | undefined {
  return LISTS.find((list) => settings[list].some((listed) => same(listed, word)))
}

/** The settings with a word on one list, or on none. */
export function moved(settings: Settings, word: string, to: List | undefined): Settings {
  const next = { ...settings }
  for (const list of LISTS) next[list] = settings[list].filter((listed) => !same(listed, word))
  if (to) next[to] = [...next[to], word]
  return next
}

interface Props {
  settings: Settings
  setSettings: (settings: Settings) => void
  file: string | null
}

export function Lists({ settings, setSettings, file }: Props) {
  const [said, setSaid] = useState<{ ok: boolean; text: string }>()
  const save = async () => {
    try {
      const { file } = await ask<{ file: string }>('save', { settings })
      setSaid({ ok: true, text: `Saved to ${file}.` })
    } catch (error) {
      setSaid({ ok: false, text: (error as Error).message })
    }
  }
  return (
    <section class="card lists" aria-label="Your lists">
      <h2>Your lists</h2>
      <p class="quiet">Click a word above to put it on a list. Lists and sliders are saved only when you ask for it.</p>
      <div class="columns">
        {LISTS.filter((list) => settings[list].length > 0).map((list) => (
          <div key={list}>
            <h3>{TITLES[list]}</h3>
            <ul>
              {settings[list].map((word) => (
                <li key={word}>
                  {word}
                  <button
                    type="button"
                    aria-label={`Take ${word} off the list`}
                    onClick={() => setSettings(moved(settings, word, undefined))}
                  >
                    ×
                  </button>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
      <div class="buttons">
        <Copy label="Copy cape.toml" text={() => toml(settings)} />
        {file && (
          <button type="button" onClick={save}>
            Save to {file}
          </button>
        )}
        {said && (
          <span role="status" class={said.ok ? 'quiet' : 'warn'}>
            {said.text}
          </span>
        )}
      </div>
    </section>
  )
}
