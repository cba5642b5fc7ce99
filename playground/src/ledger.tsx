// What was spent through the proxy, by key and day. The ledger holds counts and no words.

import { scaleBand, scaleLinear } from 'd3-scale'
import { useState } from 'preact/hooks'

import { ask } from './api'
import { number, plural } from './english'

interface Sum {
  releases: number
  draws: number
  epsilon: number
}

interface Left {
  left_today: number | null
  left: number | null
}

interface Ledger extends Left {
  today: string
  days: ({ key: string; day: string } & Sum)[]
  keys: ({ key: string } & Sum & Left)[]
  all: Sum
}

const name = (key: string) => key.slice(0, 8)
const rest = (left: number | null) => (left === null ? 'no limit' : number(left))

export function LedgerView() {
  const [ledger, setLedger] = useState<Ledger>()
  const [problem, setProblem] = useState<string>()
  const show = () =>
    ask<Ledger>('ledger', {}).then(
      (ledger) => {
        setLedger(ledger)
        setProblem(undefined)
      },
      (error) => setProblem((error as Error).message),
    )
  return (
    <section class="card" aria-label="Ledger">
      <div class="head">
        <h2>Ledger of the proxy</h2>
        <button type="button" onClick={show}>
          {ledger ? 'Read again' : 'Show'}
        </button>
      </div>
      <p class="quiet">
        What <code>cape serve</code> spent, by API key (as a keyed hash) and day. It holds counts; no word of a prompt is
        stored for it.
      </p>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {ledger && ledger.days.length === 0 && <p>Nothing was spent yet.</p>}
      {ledger && ledger.days.length > 0 && (
        <div class="two">
          <Days ledger={ledger} />
          <Keys ledger={ledger} />
        </div>
      )}
    </section>
  )
}

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [560, 220, 56, 24]

/** ε by day, a colour for each key. */
function Days({ ledger }: { ledger: Ledger }) {
  const days = [...new Set(ledger.days.map((row) => row.day))].slice(-30)
  const keys = ledger.keys.map((row) => row.key)
  const shown = ledger.days.filter((row) => days.includes(row.day))
  const totals = days.map((day) => shown.reduce((sum, row) => (row.day === day ? sum + row.epsilon : sum), 0))
  const x = scaleBand(days, [LEFT, WIDTH]).padding(0.25)
  const y = scaleLinear([0, Math.max(...totals)], [HEIGHT - BOTTOM, 10]).nice(4)
  const tops = new Map<string, number>()
  const says = `ε spent by day: ${days.map((day, i) => `${day} ${number(totals[i]!)}`).join(', ')}`
  return (
    <figure>
      <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={says}>
        {y.ticks(4).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={WIDTH} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
              {number(tick)}
            </text>
          </g>
        ))}
        {shown.map((row) => {
          const from = tops.get(row.day) ?? 0
          tops.set(row.day, from + row.epsilon)
          const top = y(from + row.epsilon)
          return (
            <rect
              key={`${row.day} ${row.key}`}
              class={`bar bar${keys.indexOf(row.key) % 4}`}
              x={x(row.day)}
              width={Math.min(x.bandwidth(), 60)}
              y={top}
              height={Math.max(y(from) - top, 1)}
            >
              <title>{`${row.day}, key ${name(row.key)}: ε = ${number(row.epsilon)}`}</title>
            </rect>
          )
        })}
        <text x={LEFT} y={HEIGHT - 6}>
          {days[0]}
        </text>
        {days.length > 1 && (
          <text x={WIDTH} y={HEIGHT - 6} text-anchor="end">
            {days[days.length - 1]}
          </text>
        )}
      </svg>
      <figcaption class="quiet">ε by day and key. Today is {ledger.today} (UTC).</figcaption>
    </figure>
  )
}

function Keys({ ledger }: { ledger: Ledger }) {
  const recent = ledger.days.slice(-8).reverse()
  return (
    <div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Keys">
        <table>
          <thead>
            <tr>
              <th scope="col">key</th>
              <th scope="col">draws</th>
              <th scope="col">ε</th>
              <th scope="col">left today</th>
              <th scope="col">left</th>
            </tr>
          </thead>
          <tbody>
            {ledger.keys.map((row) => (
              <tr key={row.key}>
                <td>{name(row.key)}</td>
                <td>{number(row.draws, 0)}</td>
                <td>{number(row.epsilon)}</td>
                <td>{rest(row.left_today)}</td>
                <td>{rest(row.left)}</td>
              </tr>
            ))}
            <tr>
              <td>all keys</td>
              <td>{number(ledger.all.draws, 0)}</td>
              <td>{number(ledger.all.epsilon)}</td>
              <td>{rest(ledger.left_today)}</td>
              <td>{rest(ledger.left)}</td>
            </tr>
          </tbody>
        </table>
      </div>
      <h3>Lately</h3>
      <ul>
        {recent.map((row) => (
          <li key={`${row.day} ${row.key}`} class="quiet">
            {row.day}, key {name(row.key)}: {plural(row.releases, 'request')} with new words,{' '}
            {plural(row.draws, 'draw')}, ε = {number(row.epsilon)}
          </li>
        ))}
      </ul>
    </div>
  )
}
