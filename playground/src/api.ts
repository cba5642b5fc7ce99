// What the server is asked and what it answers. Everything is a POST with JSON: nothing of a prompt
// stands in an address.

export type Level = 'ordinary' | 'protected' | 'kept'
export type Profile = 'personal' | 'names' | 'everything'

export interface Settings {
  profile: Profile
  epsilon: number
  k: number
  protect: string[]
  ordinary: string[]
  keep: string[]
  /** Settings that this page shows but does not change. */
  alpha: number | null
  epsilon_ordinary: number | null
  format: string
  any_script: boolean
}

export interface Word {
  /** Where it stands in the prompt, in UTF-16 units as JavaScript counts. */
  start: number
  end: number
  level: Level
  kind: string
  why: string
  released?: string
}

export interface Privacy {
  words: number
  draws: number
  protected: number
  epsilon_protected: number
  epsilon_any: number
  epsilon_prompt: number
  most_kept: number
  /** The same for numbers, dates and times; absent where there is none. */
  most_kept_value?: number
  most_guessed: number
}

export interface Session {
  /** Draws since the program started, over all maps. */
  draws: number
  maps: number
  epsilon: number
}

export interface Start {
  settings: Settings
  listed: number
  version: string
  /** The settings file that lists can be saved to. */
  file: string | null
  paper: boolean
  attack: boolean
  ledger: boolean
  upstream: string | null
  extractor: boolean
  session: Session
}

export interface Plan {
  words: Word[]
  privacy: Privacy
  /** Draws that a release makes: words that this map has drawn before cost nothing again. */
  fresh: number
  /** The largest sum of ε₁ that one word of this prompt has spent. */
  most_spent: number
}

export interface Release extends Plan {
  text: string
  session: Session
}

export interface Candidate {
  rank: number
  released: string
  similarity: number | null
  probability: number
}

export interface Explanation {
  original: string
  level: Level
  kind: string
  why: string
  /** None where the kind is replaced by a random one, whatever it was. */
  law: { epsilon: number; k: number; ranks: number; near: number } | null
  listed: boolean
  candidates: Candidate[]
  /** Words in whose place the same could stand, with the probability of that. */
  others: { released: string; probability: number; words: { word: string; probability: number }[] } | null
}

export interface LawNumbers {
  ranks: number
  epsilon_protected: number
  epsilon_any: number
  kept: number
  near: number
  guessed: number
  least: number
  /** Pairs of a rank and the probability of a word up to that rank. */
  curve: [number, number][]
}

export interface Compared {
  text: string
  epsilon: number
  bound: number
  notion: string
  evidence: string
}

export interface Guess {
  word: number
  guess: string | null
  right: boolean
  exact: boolean
}

/** A refusal of the server, in its own words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

/** The server did not answer at all. */
export class Gone extends Error {}

let token = ''

export function setToken(given: string) {
  token = given
}

export async function ask<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' }
  if (token) headers['X-Cape-Token'] = token
  let response: Response
  try {
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null }
    response = await fetch(`api/${path}`, { ...init, cache: 'no-store', credentials: 'omit' })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Gone('Cape does not answer. Is it still running in its terminal?')
  }
  const answer = await response.json().catch(() => null)
  if (!response.ok) {
    const message = answer?.error?.message ?? `The server answered with status ${response.status}.`
    throw new Refused(response.status, message)
  }
  return answer as T
}
