// The law's picture: how probable it is that a word becomes one of its r nearest, for every r.

import { scaleLinear, scaleLog } from 'd3-scale'
import { line } from 'd3-shape'

import type { LawNumbers } from './api'
import { number, percent } from './english'

const [WIDTH, HEIGHT] = [560, 260]
const MARGIN = { top: 12, right: 14, bottom: 42, left: 50 }

export function LawChart({ law, k }: { law: LawNumbers; k: number }) {
  const x = scaleLog([1, law.ranks], [MARGIN.left, WIDTH - MARGIN.right])
  const y = scaleLinear([0, 1], [HEIGHT - MARGIN.bottom, MARGIN.top])
  const path = line<[number, number]>(
    ([rank]) => x(rank),
    ([, share]) => y(share),
  )
  const ranks = [1, 10, 100, 1000, 10000].filter((rank) => rank <= law.ranks)
  const atK = Math.min(k, law.ranks)
  const says = `A protected word stays itself with ${percent(law.kept)} and becomes one of its ${k} nearest with ${percent(law.near)}.`
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={says}>
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(share)} y2={y(share)} />
          <text x={MARGIN.left - 8} y={y(share) + 4} text-anchor="end">
            {100 * share} %
          </text>
        </g>
      ))}
      {ranks.map((rank) => (
        <text key={rank} x={x(rank)} y={HEIGHT - MARGIN.bottom + 18} text-anchor="middle">
          {number(rank, 0)}
        </text>
      ))}
      <text x={(MARGIN.left + WIDTH - MARGIN.right) / 2} y={HEIGHT - 6} text-anchor="middle">
        becomes one of its r nearest words
      </text>
      <line class="mark" x1={x(atK)} x2={x(atK)} y1={y(0)} y2={y(1)} />
      <text class="mark" x={x(atK) + (x(atK) > WIDTH / 2 ? -6 : 6)} y={y(0) - 8} text-anchor={x(atK) > WIDTH / 2 ? 'end' : 'start'}>
        k = {number(k, 0)}
      </text>
      <path class="curve" d={path(law.curve) ?? ''} />
      <circle class="dot" cx={x(atK)} cy={y(law.near)} r="4" />
    </svg>
  )
}
