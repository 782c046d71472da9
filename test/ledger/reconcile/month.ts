import fc from 'fast-check';
import type { BilledLine } from '../../../src/ledger/reconcile/billed.ts';
import type { BookedCharge } from '../../../src/ledger/reconcile/booked.ts';

/** A request to a provider, with what it used. */
export interface Request {
  /** ms since 1970. */
  readonly time: number;
  readonly model: string;
  readonly units: Readonly<Record<string, number>>;
  /** The service tier; absent for the usual one. */
  readonly tier?: string;
}

const DAY = 86_400_000;
export const MONTH = Date.UTC(2026, 10, 1);
export const DAYS = 30;

/** USD per 1M tokens, in thousandths, and USD per use of a tool, in thousandths. */
export const RATES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'glow-2': { input: 1_250, cached_input: 125, cache_write: 1_560, cache_write_1h: 2_500, output: 10_000 },
  'glow-mini': { input: 150, cached_input: 15, cache_write: 187, cache_write_1h: 300, output: 600 },
};
const TOOL_USE = 10;

/** The cost of units, in picodollars. */
export const costOf = (model: string, unit: string, amount: number): bigint =>
  unit.startsWith('tool_use/')
    ? BigInt(amount) * BigInt(TOOL_USE) * 1_000_000_000n
    : BigInt(amount) * BigInt(RATES[model]![unit] ?? 0) * 1_000n;

const request = fc.record({
  time: fc.integer({ min: MONTH, max: MONTH + DAYS * DAY - 1 }),
  model: fc.constantFrom(...Object.keys(RATES)),
  units: fc.record({
    input: fc.integer({ min: 100, max: 90_000 }),
    cached_input: fc.oneof(fc.constant(0), fc.integer({ min: 100, max: 60_000 })),
    cache_write: fc.oneof(fc.constant(0), fc.integer({ min: 100, max: 20_000 })),
    cache_write_1h: fc.oneof(fc.constant(0), fc.integer({ min: 100, max: 20_000 })),
    output: fc.integer({ min: 100, max: 8_000 }),
    'tool_use/web_search': fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) },
    ),
  }),
});

/** Traffic of a month: some requests on each day, some of them near midnight. */
export const months: fc.Arbitrary<readonly Request[]> = fc
  .tuple(fc.array(request, { minLength: 150, maxLength: 250 }), fc.array(request, { minLength: DAYS, maxLength: DAYS }))
  .map(([all, late]) => [
    ...all,
    ...late.map((one, day) => ({ ...one, model: 'glow-2', time: MONTH + (day + 1) * DAY - 1_000 * 60 * 20 })),
  ]);

export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

export const chargeOf = ({ time, model, units, tier }: Request): BookedCharge => ({
  day: dayOf(time),
  model,
  provider: 'openai',
  tier: tier ?? null,
  units: new Map([
    ...Object.entries(units)
      .filter(([, amount]) => amount > 0)
      .map(([unit, amount]) => [unit, { amount, usd: costOf(model, unit, amount) }] as const),
    ['requests', { amount: 1, usd: 0n }],
  ]),
});

/** The lines of a bill with amounts and costs, one for each day, model and unit. */
export function linesOf(requests: readonly Request[], shift = 0): BilledLine[] {
  const sums = new Map<string, { day: string; model: string; unit: string; amount: number }>();
  for (const { time, model, units } of requests) {
    const day = dayOf(time + shift);
    for (const [unit, amount] of [...Object.entries(units), ['requests', 1] as const]) {
      if (amount === 0) continue;
      const sum = sums.getOrInsertComputed(`${day} ${model} ${unit}`, () => ({ day, model, unit, amount: 0 }));
      sum.amount += amount;
    }
  }
  return [...sums.values()].map(({ day, model, unit, amount }) => ({
    ...{ day, model, unit, amount, tier: null, account: 'proj_gateway' },
    usd: unit === 'requests' ? null : costOf(model, unit, amount),
  }));
}
