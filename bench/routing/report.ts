import { fixed, table } from '../stats.ts';
import type { Entry, Figure } from './measure.ts';
import type { TierEntry } from './tiers.ts';

/** The results of a pool. */
export interface PoolReport {
  readonly pool: string;
  readonly source: string;
  readonly models: readonly string[];
  /** The number of rows for teaching and for measuring in a split. */
  readonly taught: number;
  readonly tested: number;
  /** The cost weight of chats that each teach one answer. */
  readonly lambda: number;
  /** For the first split: the AIQ of the single models' hull, and the mean score if the best answer of each row were known. */
  readonly hull: number;
  readonly oracle: number;
  /** For the first split: the mean cost in USD and the mean score of the single models. */
  readonly singles: readonly (readonly [cost: number, quality: number])[];
  readonly entries: readonly Entry[];
  readonly seconds: number;
}

/** Returns the results of tiers and escalation on one pool. */
export function tiersText(entries: readonly TierEntry[]): string {
  const rows = entries.map(({ router, worth, closed, over }) => [
    router,
    String(worth),
    interval(closed, percent),
    interval(over, points),
  ]);
  return table([
    ['router', 'worth of a good answer, mean costs', 'of the gap closed', 'over the best fixed model, × 1000'],
    ...rows,
  ]);
}

const share = (value: number | null): string =>
  value === null || Number.isNaN(value) ? '–' : fixed(value, 3).replace(/^(-?)0\./, '$1.');
const points = (value: number): string => `${value >= 0 ? '+' : '−'}${fixed(Math.abs(value) * 1_000)}`;
const percent = (value: number): string => (Number.isNaN(value) ? '–' : `${fixed(value * 100)} %`);

const interval = (figure: Figure | null, format: (value: number) => string): string =>
  figure === null ? '–' : `${format(figure.mean)} [${format(figure.low)}, ${format(figure.high)}]`;

/** Returns the results of one pool as a text table. */
export function textOf({ pool, models, taught, tested, lambda, hull, oracle, entries, seconds }: PoolReport): string {
  const isPair = models.length === 2;
  const head = [
    'router',
    'K',
    ...(isPair ? ['APGR', '± splits'] : []),
    'AIQ − hull, × 1000',
    '± splits',
    isPair ? 'APGR over length' : 'over length, × 1000',
    isPair ? 'APGR over n-grams' : 'over n-grams, × 1000',
    'cost at 95 %',
    'at 99 %',
    'Brier',
    'less the constant’s',
    'ECE',
  ];
  const difference = isPair ? signed : points;
  const rows = entries.map((entry) => [
    entry.router,
    entry.outcomes === null ? '' : String(entry.outcomes),
    ...(isPair ? [interval(entry.apgr, share), share(entry.apgr?.splits ?? null)] : []),
    interval(entry.gain, points),
    fixed(entry.gain.splits * 1_000),
    interval(entry.overLength, difference),
    interval(entry.overNgrams, difference),
    percent(entry.cost95),
    percent(entry.cost99),
    share(entry.brier),
    interval(entry.overConstant, (value) => signed(value, 4)),
    share(entry.ece),
  ]);
  return `## ${pool}: ${models.join(', ')}

${taught} rows teach, ${tested} are measured on. Hull ${share(hull)}, best of each row ${share(oracle)}. λ of the chats that were decided: ${fixed(lambda, 3)}. ${fixed(seconds)} s.

${table([head, ...rows])}
`;
}

const signed = (value: number, digits = 3): string =>
  `${value >= 0 ? '+' : '−'}${fixed(Math.abs(value), digits).replace(/^0\./, '.')}`;
