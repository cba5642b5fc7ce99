// Things to take away.

import { useEffect, useState } from 'preact/hooks'

import type { Settings } from './api'

export function Copy({ label, text }: { label: string; text: () => string }) {
  const [said, setSaid] = useState('')
  useEffect(() => {
    if (!said) return
    const timer = setTimeout(() => setSaid(''), 1600)
    return () => clearTimeout(timer)
  }, [said])
  const copy = () =>
    navigator.clipboard.writeText(text()).then(
      () => setSaid('Copied'),
      () => setSaid('The browser did not allow it'),
    )
  return (
    <button type="button" onClick={copy}>
      {said || label}
      <span class="hidden" role="status">
        {said}
      </span>
    </button>
  )
}

/** A command that sends the release, and never the prompt, to a service. */
export function curl(release: string, upstream: string | null): string {
  const base = (upstream ?? 'https://api.openai.com/v1').replace(/\/$/, '')
  const body = JSON.stringify({ model: 'MODEL', messages: [{ role: 'user', content: release }] })
  const quoted = `'${body.replaceAll("'", `'\\''`)}'`
  return `curl ${base}/chat/completions \\\n  -H "Authorization: Bearer $API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted}\n`
}

/** The settings as lines of cape.toml. */
export function toml(settings: Settings): string {
  const lines = [`epsilon = ${settings.epsilon}`, `k = ${settings.k}`, `profile = "${settings.profile}"`]
  if (settings.alpha !== null) lines.push(`alpha = ${settings.alpha}`)
  if (settings.epsilon_ordinary !== null) lines.push(`epsilon-ordinary = ${settings.epsilon_ordinary}`)
  if (settings.format !== 'prose') lines.push(`format = "${settings.format}"`)
  if (settings.any_script) lines.push('any-script = true')
  const { protect, ordinary, keep } = settings
  for (const [name, words] of Object.entries({ protect, ordinary, keep })) {
    if (words.length > 0) lines.push(`${name} = [${words.map((word) => JSON.stringify(word)).join(', ')}]`)
  }
  return `${lines.join('\n')}\n`
}
