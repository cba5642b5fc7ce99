// Levels, reasons and kinds in plain words.

import type { Level, Profile, Word } from './api'

const WHY: Record<string, string> = {
  common: 'a common word',
  first: 'a common word that has its capital because it stands first',
  software: 'the name of a language, a file format or well-known software',
  capital: 'a common word that is written like a name',
  uncommon: 'not a common word: it may be a name',
  profile: 'your profile protects all words but the little ones',
  listed: 'on your list',
  illness: 'a word of illness',
  body: 'a word of the body',
  religion: 'a word of religion',
  politics: 'a word of politics',
  sexuality: 'a word of sexuality',
  crime: 'a word of crime',
  money: 'a word of money',
}

const KIND: Record<string, string> = {
  word: 'a word',
  number: 'a number',
  amount: 'an amount of money',
  date: 'a date',
  time: 'a time of day',
  day: 'a day',
  'month-of-year': 'a month of a year',
  month: 'a month',
  weekday: 'a weekday',
  email: 'an e-mail address',
  url: 'a web address',
  ip: 'an internet address',
  identifier: 'an identifier, such as a phone or card number',
  secret: 'a key or a password',
}

export const kindName = (kind: string) => KIND[kind] ?? kind

export function reason({ why, kind, level }: Pick<Word, 'why' | 'kind' | 'level'>): string {
  if (level === 'kept') return 'on your list of words to keep'
  if (why === 'kind') return kindName(kind)
  return WHY[why] ?? `sensitive (${why})`
}

export const levelName: Record<Level, string> = {
  ordinary: 'Ordinary',
  protected: 'Protected',
  kept: 'Kept',
}

export const profiles: { name: Profile; title: string; says: string }[] = [
  {
    name: 'names',
    title: 'Names',
    says: 'Protects names, numbers, dates, addresses and rare words.',
  },
  {
    name: 'personal',
    title: 'Personal',
    says: 'Protects names, numbers, dates, addresses, rare words, and words of illness, religion, politics, sexuality, crime and money.',
  },
  {
    name: 'everything',
    title: 'Everything',
    says: 'Protects every word but little ones such as “the” and “of”.',
  },
]

/** A number with at most this many decimals, and a thin space in long ones. */
export function number(x: number, decimals = 2): string {
  return x.toLocaleString('en', { maximumFractionDigits: decimals })
}

/** A probability as a percentage that is never rounded to a false 0 or 100. */
export function percent(p: number): string {
  const x = 100 * p
  if (x === 0 || x === 100) return `${x} %`
  if (x < 0.0001) return `${x.toExponential(1).replace('e-', ' · 10⁻').replace(/\d+$/, superscript)} %`
  const decimals = x < 0.01 ? 4 : x < 1 || x > 99 ? 2 : x < 10 || x > 90 ? 1 : 0
  return `${x.toFixed(decimals)} %`
}

const superscript = (digits: string) =>
  [...digits].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('')

export const plural = (n: number, one: string, several = `${one}s`) =>
  `${number(n, 0)} ${n === 1 ? one : several}`
