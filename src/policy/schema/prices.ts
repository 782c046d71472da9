import { type Decimal, parseDecimal, toNumber } from '../../core/money/decimal.ts';
import { compilePrice, type ListPriceLine, type Price } from '../../core/money/price.ts';
import { DAY_MINUTES, type PricePlan, WEEK_MINUTES } from '../../core/money/price-plan.ts';
import {
  PART_UNITS,
  type PartUnit,
  TOKEN_UNITS,
  type TokenUnit,
  toolUse,
  UNITS,
  type UnitKey,
} from '../../core/money/units.ts';
import type { Report } from '../report/report.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { DAYS, type LaterText, type PriceText, type RatesText } from './price-text.ts';

/**
 * The lowest plausible price, in USD per 1M tokens. A lower price is probably per token or per 1,000 tokens, because the cheapest models
 * cost 20 times as much.
 */
export const PER_MILLION_MIN = 0.001;
/** The usual range of model prices, USD per 1M tokens. */
const PLAUSIBLE = { min: 0.01, max: 200 } as const;
/** Other units of prices, with the number of these units in 1M tokens. */
const OTHER_UNITS = [
  ['per 1K tokens', 1000n],
  ['per token', 1_000_000n],
] as const;

/**
 * Reads an exact decimal from the source text. `decimalAt` returns null if the decimal is absent, or if it is not in plain notation, which
 * is reported.
 */
export function decimalAt(tree: Tree, key: string, report: Report): Decimal | null {
  const at = valueAt(tree, key);
  if (at?.kind !== 'scalar') return null;
  const decimal = parseDecimal(at.source);
  if (!decimal) {
    report.add('bad-form', at.place, `\`${key}\` must be an exact decimal, not \`${at.source}\``, {
      expected: 'plain decimal digits such as 0.25 or 12',
    });
  }
  return decimal;
}

/** A price as a policy states it. */
export interface StatedPrice {
  /** The price as it is stated first: without hours, and before its end. */
  readonly price: Price;
  /** What the price is over time; absent if it never changes. */
  readonly plan?: PricePlan;
  /** For expressions: each price of `allPrices`, or `price` alone. */
  readonly usd: readonly UsdPrice[];
}

/** Compiles a price that satisfies the schema. `readStated` reports errors and returns null if the price is wrong or cannot be exact. */
export function readStated(tree: Tree, data: PriceText, usdPerCredit: Decimal, report: Report): StatedPrice | null {
  const problemsBefore = report.found.length;
  const reader = { usdPerCredit, report };
  const texts: readonly LaterText[] = [data, ...data.later];
  const periods = texts.map((text, at) => {
    const own = at === 0 ? tree : (valueAt(tree, 'later', at - 1) ?? tree);
    return { own, ...readPeriod(own, text, reader) };
  });
  const ends = readEnds(periods, texts, report);
  checkBilledAt(tree, data, report);
  if (report.found.length > problemsBefore) return null;
  reviewParts(tree, data, report);
  const [first] = periods;
  const isPlain = periods.length === 1 && first!.hours.length === 0;
  const plan = {
    periods: periods.map(({ price, hours }, at) => ({ untilMs: ends[at]!, price: price!, hours })),
    billedAt: data.billed_at ?? null,
  };
  const usd = texts.flatMap((text) => [text, ...text.hours].map((rates) => usdOf({ ...text, ...rates })));
  return { price: first!.price!, ...(!isPlain && { plan }), usd };
}

/** Warns about parts of a price that leave out rates which the price itself states. */
function reviewParts(tree: Tree, data: PriceText, report: Report): void {
  const stated = PART_UNITS.filter((unit) => data[unit] !== undefined && !UNITS[unit].asked);
  if (stated.length === 0) return;
  const review = (rates: RatesText, ...path: readonly (string | number)[]): void => {
    for (const unit of stated) {
      if (rates[unit] !== undefined) continue;
      const message = `the price states \`${unit}\`, but this part of it does not, so these tokens cost as much as \`${UNITS[unit].rateOf}\``;
      report.add('left-out-rate', placeAt(tree, ...path), message, { hint: `state \`${unit}\` here, too` });
    }
  };
  for (const [at, text] of [data, ...data.later].entries()) {
    const path = at === 0 ? [] : ['later', at - 1];
    if (at > 0) review(text, ...path);
    for (const [nth, one] of text.hours.entries()) review(one, ...path, 'hours', nth);
    for (const [name, one] of Object.entries(text.service_tiers ?? {})) review(one, ...path, 'service_tiers', name);
  }
}

interface PriceReader {
  readonly usdPerCredit: Decimal;
  readonly report: Report;
}

function readPeriod(own: Tree, text: LaterText, reader: PriceReader) {
  const fees = readFees(own, text, reader.report);
  const price = readPrice(own, text, fees, reader, text.service_tiers);
  const taken = new Set<number>();
  const hours = text.hours.flatMap((stated, at) => {
    const tree = valueAt(own, 'hours', at) ?? own;
    const ranges = rangesOf(stated);
    const minutes = ranges.flatMap(([from, until]) => Array.from({ length: until - from }, (_, more) => from + more));
    if (minutes.some((minute) => taken.has(minute))) {
      const expected = 'hours that do not overlap';
      reader.report.add('conflicting-keys', tree.place, 'two `hours` of a price have the same minutes', { expected });
    }
    for (const minute of minutes) taken.add(minute);
    const price = readPrice(tree, stated, fees, reader);
    // A service tier costs the same at all hours.
    return price ? [{ ranges, price }] : [];
  });
  const { tiers } = price ?? {};
  return { price, hours: tiers ? hours.map((one) => ({ ...one, price: { ...one.price, tiers } })) : hours };
}

/** Returns the minutes of the week of hours that begin on some days. Hours that end on the next day can reach into the next week. */
function rangesOf({ from, to, days }: LaterText['hours'][number]): readonly (readonly [number, number])[] {
  const [begins, ends] = [minuteOf(from), minuteOf(to)];
  const length = ends > begins ? ends - begins : ends + DAY_MINUTES - begins;
  return days.flatMap((day) => {
    const start = DAYS.indexOf(day) * DAY_MINUTES + begins;
    const end = start + length;
    if (end <= WEEK_MINUTES) return [[start, end] as const];
    return [[start, WEEK_MINUTES] as const, [0, end - WEEK_MINUTES] as const];
  });
}

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** Returns the end of each period, ms since 1970. */
function readEnds(
  periods: readonly { readonly own: Tree }[],
  texts: readonly LaterText[],
  report: Report,
): readonly number[] {
  let before = Number.NEGATIVE_INFINITY;
  return texts.map(({ until }, at) => {
    const isLast = at === texts.length - 1;
    const { own } = periods[at]!;
    const place = placeAt(own, 'until');
    if (until === undefined) {
      if (!isLast) report.add('missing-key', own.place, 'a price that another one follows needs the key `until`');
      return Number.POSITIVE_INFINITY;
    }
    const ms = momentMs(until);
    if (isLast) {
      const expected = '`later` with the price that follows, or no `until`';
      report.add('missing-key', place, '`until` ends the price, but no price follows', { expected });
    }
    if (Number.isNaN(ms)) {
      const expected = 'a day such as 2026-12-01, or a moment such as 2026-12-01T16:00:00Z';
      report.add('bad-form', place, `\`until\` is no moment: \`${until}\``, { expected });
    } else if (ms <= before)
      report.add('out-of-range', place, '`until` must rise from each price to the next', {
        expected: `after ${new Date(before).toISOString()}`,
      });
    else before = ms;
    return ms;
  });
}

/** Returns a stated moment, ms since 1970; NaN for a day or time that does not exist. */
export function momentMs(text: string): number {
  const day = text.slice(0, 10);
  const start = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== day) return Number.NaN;
  return text.length === day.length ? start : Date.parse(text.replace(' ', 'T'));
}

function checkBilledAt(tree: Tree, { billed_at, hours, later }: PriceText, report: Report): void {
  const changes = hours.length + later.length > 0 || later.some((one) => one.hours.length > 0);
  if (billed_at === undefined || changes) return;
  report.add(
    'conflicting-keys',
    placeAt(tree, 'billed_at'),
    '`billed_at` has no effect, because the price does not change',
    {
      expected: '`billed_at` with `until` or `hours`, or neither',
    },
  );
}

function readFees(
  tree: Tree,
  { per_request, tool_uses = {} }: LaterText,
  report: Report,
): ReadonlyMap<UnitKey, Decimal> {
  const fees = new Map<UnitKey, Decimal>();
  const perRequest = per_request === undefined ? null : decimalAt(tree, 'per_request', report);
  if (perRequest && perRequest.digits > 0n) fees.set('request', perRequest);
  for (const name of Object.keys(tool_uses)) {
    const fee = decimalAt(valueAt(tree, 'tool_uses') ?? tree, name, report);
    if (fee) fees.set(toolUse(name), fee);
  }
  return fees;
}

function readPrice(
  tree: Tree,
  data: RatesText,
  fees: ReadonlyMap<UnitKey, Decimal>,
  { usdPerCredit, report }: PriceReader,
  serviceTiers: LaterText['service_tiers'] = {},
): Price | null {
  const lines = readLines(tree, data, report);
  const tiers = new Map<string, Lines>();
  for (const [name, rates] of Object.entries(serviceTiers)) {
    const own = readLines(valueAt(tree, 'service_tiers', name) ?? tree, rates, report);
    if (own) tiers.set(name, own);
  }
  if (!lines || tiers.size < Object.keys(serviceTiers).length) return null;
  try {
    return compilePrice({ lines, fees, tiers }, usdPerCredit);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    report.add('price-not-exact', tree.place, error.message, { hint: 'round the price to fewer digits' });
    return null;
  }
}

type Lines = readonly [ListPriceLine, ...ListPriceLine[]];

function readLines(tree: Tree, data: RatesText, report: Report): Lines | null {
  const first = readLine(tree, 0, report);
  const { tiers: stated = [] } = data;
  const tiers = stated.map((tier, at) => {
    const previous = at === 0 ? 0 : (stated[at - 1]?.over_input_tokens ?? 0);
    if (tier.over_input_tokens <= previous) {
      const place = placeAt(tree, 'tiers', at, 'over_input_tokens');
      const expected = `more than ${previous}`;
      report.add('out-of-range', place, '`over_input_tokens` must rise from each tier to the next', { expected });
    }
    return readLine(valueAt(tree, 'tiers', at) ?? tree, tier.over_input_tokens, report);
  });
  const lines = tiers.filter((line) => line !== null);
  return first && lines.length === tiers.length ? [first, ...lines] : null;
}

export type UsdPrice = ReturnType<typeof usdOf>;

/** Returns a price for expressions: USD per 1M tokens for the shortest inputs, and USD per request, as doubles. */
const usdOf = ({
  input,
  output,
  cached_input = input,
  per_request = 0,
}: RatesText & { readonly per_request?: number }) => ({
  input,
  cached_input,
  output,
  per_request,
});

/** Checks the rates of a price that has other errors. */
export function reviewRates(tree: Tree, report: Report): void {
  for (const key of TOKEN_UNITS) {
    const rate = valueAt(tree, key);
    if (rate?.kind === 'scalar' && typeof rate.value === 'number') rateAt(tree, key, report);
  }
}

function readLine(tree: Tree, overInputTokens: number, report: Report): ListPriceLine | null {
  const input = rateAt(tree, 'input', report);
  const output = rateAt(tree, 'output', report);
  const others = new Map<PartUnit, Decimal>();
  for (const unit of PART_UNITS) {
    const rate = rateAt(tree, unit, report);
    if (rate) others.set(unit, rate);
  }
  return input && output ? { overInputTokens, input, output, others } : null;
}

function rateAt(tree: Tree, key: TokenUnit, report: Report): Decimal | null {
  const rate = decimalAt(tree, key, report);
  if (!rate || rate.digits <= 0n || toNumber(rate) >= PER_MILLION_MIN) return rate;
  const meant = OTHER_UNITS.map(([unit, times]) => ({
    unit,
    perMillion: toNumber({ digits: rate.digits * times, scale: rate.scale }),
  })).filter(({ perMillion }) => perMillion >= PLAUSIBLE.min && perMillion <= PLAUSIBLE.max);
  const hint = meant.map(({ unit, perMillion }) => `${perMillion} if it was ${unit}`).join(', ');
  const looks = meant.map(({ unit }) => unit).join(' or ') || 'per token';
  report.add('price-per-token', placeAt(tree, key), `\`${key}\` looks like a price ${looks}`, {
    expected: 'USD per 1M tokens',
    hint,
  });
  return rate;
}
