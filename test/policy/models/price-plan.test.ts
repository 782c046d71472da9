import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../../plugins/index.ts';
import { billedPrice } from '../../../src/core/money/billed-price.ts';
import { costOf } from '../../../src/core/money/price.ts';
import { momentOf, type PricePlan, priceAt, pricesWithin } from '../../../src/core/money/price-plan.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import type { Endpoint } from '../../../src/core/policy/snapshot.ts';
import { createRegistry } from '../../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../../src/policy/load.ts';
import { worstCase } from '../../../src/routing/estimate.ts';
import { tries } from '../../deep/effort.ts';
import { facts as factsOf, model } from '../../routing/build.ts';
import { load } from '../support.ts';

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const TOTAL_MS = 300_000;
const INPUT_MAX = 9;

interface Hours {
  readonly from: number;
  readonly to: number;
  readonly days: readonly string[];
}
interface Period {
  /** The end as the policy writes it, and in ms since 1970; null for the last period. */
  readonly until: { readonly text: string; readonly ms: number } | null;
  readonly hours: readonly Hours[];
}

const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

/** A moment in some time zone. */
const momentIn = (ms: number, offset: number) => {
  const local = new Date(ms + offset * MINUTE).toISOString().slice(0, 16);
  const sign = offset < 0 ? '-' : '+';
  return { ms, text: offset === 0 ? `${local}Z` : `${local}:00${sign}${clock(Math.abs(offset))}` };
};

const START = Date.UTC(2026, 10, 30);
const offsets = fc.constantFrom(0, 60, -480, 345, 840, -720);
/** Hours that begin on some days. Two of them never overlap, because one covers mornings and the other the time from noon to the next morning. */
const hoursOf = fc.tuple(
  fc.option(fc.tuple(fc.nat(300), fc.integer({ min: 301, max: 700 })), { nil: undefined }),
  fc.option(fc.tuple(fc.integer({ min: 720, max: 1_439 }), fc.integer({ min: -1_430, max: 0 })), { nil: undefined }),
  fc.subarray(DAYS, { minLength: 1 }),
  fc.subarray(DAYS, { minLength: 1 }),
);
const periods: fc.Arbitrary<readonly Period[]> = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 20_000 }), offsets, hoursOf), { minLength: 1, maxLength: 4 })
  .map((all) => {
    let end = START;
    return all.map(([length, offset, [morning, night, ofMorning, ofNight]], at) => {
      end += length * MINUTE;
      const first = morning && { from: morning[0], to: morning[1], days: ofMorning };
      // A night ends before the hours of the morning begin.
      const last = night && { from: night[0], to: morning ? Math.min(morning[0], 1_440 + night[1]) : 0, days: ofNight };
      const hours = [first, last].filter((one) => one !== undefined);
      return { until: at === all.length - 1 ? null : momentIn(end, offset), hours };
    });
  });

/** Writes a price whose input rates are numbered: each period and each of its hours has a number of its own. */
function written(all: readonly Period[], billedAt: 'start' | 'end' | null = null): string {
  let number = 0;
  const rates = () => `input: ${++number}, output: ${number}`;
  const texts = all.map(({ until, hours }) => {
    const own = rates();
    const ofHours = hours.map(
      ({ from, to, days }) => `{ from: "${clock(from)}", to: "${clock(to)}", days: [${days.join()}], ${rates()} }`,
    );
    return `${own}, hours: [${ofHours.join(', ')}]${until === null ? '' : `, until: "${until.text}"`}`;
  });
  const [first, ...later] = texts;
  const more = `${later.length === 0 ? '' : `, later: [${later.map((one) => `{ ${one} }`).join(', ')}]`}`;
  const changes = all.some(({ until, hours }) => until !== null || hours.length > 0);
  return `{ ${first}${more}${billedAt === null || !changes ? '' : `, billed_at: ${billedAt}`} }`;
}

const policyOf = (price: string): string => `version: 1
credits: { usd_per_credit: 1 }
providers: { sim: { adapter: simulated } }
models:
  m:
    provider: sim
    price: ${price}
    context_window: 8192
    max_output: 1024
    quality: { default: 0.5, basis: guessed }
    deadlines: { total_ms: ${TOTAL_MS} }
`;

function endpointOf(price: string, at: number | null, more = ''): Endpoint & { readonly until: number } {
  const context = { ...createRegistry(shipped), env: { get: () => undefined }, revisionOf: () => 'r' };
  const pricedAt = at === null ? null : { at, hashOf: (text: string) => text };
  const { snapshot, diagnostics } = loadPolicy([{ path: 'p.yaml', text: `${policyOf(price)}${more}` }], {
    ...context,
    pricedAt,
  });
  if (!snapshot) throw new Error(JSON.stringify(diagnostics));
  return { ...snapshot.models[0]!.endpoints[0], until: snapshot.prices?.until ?? Number.POSITIVE_INFINITY };
}

/** Reads from the text of a policy which numbered rate applies, without any code of the product. */
function rateBy(all: readonly Period[], ms: number, reads: Partial<typeof EXACT> = {}): number {
  const { isBefore, isWithin, yesterday } = { ...EXACT, ...reads };
  const index = all.findIndex(({ until }) => until === null || isBefore(ms, until));
  const base = all.slice(0, index).reduce((sum, { hours }) => sum + 1 + hours.length, 1);
  const date = new Date(ms);
  const minute = date.getUTCHours() * 60 + date.getUTCMinutes() + date.getUTCSeconds() / 60;
  const day = (date.getUTCDay() + 6) % 7;
  const at = all[index]!.hours.findIndex(({ from, to, days }) => {
    const isToday = days.includes(DAYS[day]!);
    const wasYesterday = days.includes(DAYS[yesterday(day)]!);
    if (to > from) return isToday && isWithin(minute, from, to);
    return (isToday && isWithin(minute, from, 1_440)) || (wasYesterday && isWithin(minute, 0, to));
  });
  return base + at + 1;
}

const EXACT = {
  isBefore: (ms: number, until: { readonly ms: number; readonly text: string }): boolean => ms < until.ms,
  isWithin: (minute: number, from: number, to: number): boolean => minute >= from && minute < to,
  yesterday: (day: number): number => (day + 6) % 7,
};

const planOf = (all: readonly Period[]): PricePlan | undefined => endpointOf(written(all), null).plan;
const rateOf = ({ lines: [{ input }], divisor }: ReturnType<typeof priceAt>): number => input / divisor;

/** Moments at and around the changes of a price, to the second. */
const momentsOf = (all: readonly Period[]) =>
  fc.oneof(
    fc.integer({ min: 0, max: 40 * DAY }).map((ms) => START - 5 * DAY + ms),
    fc
      .tuple(fc.nat(60), fc.constantFrom(...all.flatMap(({ hours }) => hours.flatMap(({ from, to }) => [from, to])), 0))
      .chain(([day, minute]) =>
        fc.constantFrom(-1_000, 0, 1_000).map((ms) => START + (day - 5) * DAY + minute * MINUTE + ms),
      ),
    ...all.flatMap(({ until }) => (until ? [fc.constantFrom(-1_000, 0, 1_000).map((ms) => until.ms + ms)] : [])),
  );

const priced = periods.chain((all) => fc.record({ all: fc.constant(all), ms: momentsOf(all) }));

const sideLaw = (reads: Partial<typeof EXACT> = {}) =>
  fc.property(priced, ({ all, ms }) => {
    const plan = planOf(all);
    if (plan) expect(rateOf(priceAt(plan, ms))).toBe(rateBy(all, ms, reads));
  });

describe('a price that changes with time', () => {
  const { seed } = tries('prices over time', 1, 1);

  test('is at each second the one of its side, whatever the time zone in which a policy states the change', () => {
    fc.assert(sideLaw(), tries('a price at the second of a change', 150, 10_000));
  });

  const mutants: Readonly<Record<string, Partial<typeof EXACT>>> = {
    'ends a second late': { isBefore: (ms, until) => ms <= until.ms },
    'reads the end without its time zone': { isBefore: (ms, { text }) => ms < Date.parse(`${text.slice(0, 16)}Z`) },
    'has hours that end a second late': { isWithin: (minute, from, to) => minute >= from && minute <= to },
    'ends the hours of a day at midnight': { yesterday: () => -1 },
  };
  for (const [name, reads] of Object.entries(mutants)) {
    test(`the law detects a price that ${name}`, () => {
      expect(fc.check(sideLaw(reads), { numRuns: 2_000, seed, endOnFailure: true }).failed).toBe(true);
    });
  }

  test('is built for a moment that holds until the next change, and covers each price until a request ends', () => {
    const law = fc.property(
      priced,
      fc.integer({ min: 0, max: 3 * DAY }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      ({ all, ms }, horizon, share) => {
        const plan = planOf(all);
        if (!plan) return;
        const moment = momentOf([plan], ms, horizon);
        const span = Math.min(moment.until - ms, 2 * DAY);
        expect(momentOf([plan], ms + Math.floor(share * (span - 1)), horizon).text).toBe(moment.text);
        const now = momentOf([plan], ms, 0);
        if (now.until !== Number.POSITIVE_INFINITY) expect(momentOf([plan], now.until, 0).text).not.toBe(now.text);
        const later = ms + Math.floor(share * horizon);
        expect(pricesWithin(plan, ms, ms + horizon)).toContain(priceAt(plan, later));
      },
    );
    fc.assert(law, tries('a build holds until the next change', 120, 10_000));
  });

  /** No usage of a request that begins while a build applies, and ends by its deadline, costs more than its hold. */
  const holdLaw = (boundOf: (endpoint: Endpoint) => Endpoint) =>
    fc.property(
      priced,
      fc.constantFrom('start', 'end', null),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(TOTAL_MS),
      fc.nat(500),
      ({ all, ms }, billedAt, share, lasts, output) => {
        const { until, ...endpoint } = endpointOf(written(all, billedAt), ms);
        if (!endpoint.plan) return;
        const { own, facts } = REQUEST;
        const startMs = ms + Math.floor(share * (Math.min(until - ms, 2 * DAY) - 1));
        const usage = plainUsage(INPUT_MAX, output);
        const { price } = billedPrice(endpoint.plan, usage, { startMs, endMs: startMs + lasts }, NO_TIER);
        expect(costOf(price, usage)).toBeLessThanOrEqual(worstCase(boundOf(endpoint), own, facts, output));
      },
    );
  const NO_TIER = { asked: null, served: null };
  const REQUEST = { own: model('m'), facts: factsOf({ inputTokens: 5, inputTokensMax: INPUT_MAX, choices: 1 }) };

  test('never costs more than what is held for it', () => {
    fc.assert(
      holdLaw((endpoint) => endpoint),
      tries('holds cover a change of prices', 120, 10_000),
    );
  });

  test('the law detects a hold that counts only the price of now', () => {
    const law = holdLaw(({ nextPrices: _, ...endpoint }) => endpoint);
    expect(fc.check(law, { numRuns: 3_000, seed, endOnFailure: true }).failed).toBe(true);
  });

  test('is held for from its quote on, which can be accepted until its end', () => {
    const rises = `{ input: 1, output: 1, until: "${momentIn(START, 0).text}", later: [{ input: 3, output: 3 }] }`;
    const before = START - 50 * MINUTE;
    const payments = `payments:
  x402:
    enabled: true
    quote: { ttl_seconds: 3600 }
    networks:
      - id: eip155:31337
        asset: { address: "0x8617E340B3D01FA5F11F306F4090FD50E238070D", name: Test }
        pay_to: "0x52908400098527886E0F7030069857D2E4169EE7"
        rpc_urls_env: NODES
        facilitator: { mode: local, private_key_env: GAS_KEY }
`;
    expect(endpointOf(rises, before, payments).nextPrices).toHaveLength(1);
    expect(endpointOf(rises, before).nextPrices).toBeUndefined();
  });

  test('costs the dearer of its start and its end, unless the policy states which of them is billed', () => {
    const until = momentIn(START, 0);
    const costs = (billedAt: 'start' | 'end' | null, isRising: boolean) => {
      const [first, then] = isRising
        ? ['input: 1, output: 1', 'input: 3, output: 3']
        : ['input: 3, output: 3', 'input: 1, output: 1'];
      const ends = billedAt === null ? '' : `, billed_at: ${billedAt}`;
      const { plan } = endpointOf(`{ ${first}, until: "${until.text}", later: [{ ${then} }]${ends} }`, null);
      const { price, pricedAt } = billedPrice(
        plan!,
        plainUsage(1, 0),
        { startMs: START - 5, endMs: START + 5 },
        NO_TIER,
      );
      return [rateOf(price), pricedAt! - START];
    };
    expect([costs('start', true), costs('end', true), costs(null, true)]).toEqual([
      [1, -5],
      [3, 5],
      [3, 5],
    ]);
    expect([costs('start', false), costs('end', false), costs(null, false)]).toEqual([
      [3, -5],
      [1, 5],
      [3, -5],
    ]);
  });
});

describe('a price in a policy', () => {
  const errorsOf = (price: string) =>
    load([{ path: 'policy.yaml', text: policyOf(price) }], {})
      .diagnostics.filter(({ severity }) => severity === 'error')
      .map(({ line, column, message }) => `${line}:${column} ${message}`);

  test('with `until` needs the price that follows, and a later price needs an end before it', () => {
    expect(errorsOf('{ input: 1, output: 1, until: 2026-12-01 }')).toEqual([
      '7:42 `until` ends the price, but no price follows',
    ]);
    expect(errorsOf('{ input: 1, output: 1, later: [{ input: 2, output: 2 }] }')).toEqual([
      '7:12 a price that another one follows needs the key `until`',
    ]);
  });

  test('has ends that exist and rise', () => {
    expect(errorsOf('{ input: 1, output: 1, until: 2026-02-30, later: [{ input: 2, output: 2 }] }')).toEqual([
      '7:42 `until` is no moment: `2026-02-30`',
    ]);
    const twice = 'later: [{ input: 2, output: 2, until: 2026-12-01T01:00:00+01:00 }, { input: 3, output: 3 }]';
    expect(errorsOf(`{ input: 1, output: 1, until: 2026-12-01, ${twice} }`)).toEqual([
      '7:92 `until` must rise from each price to the next',
    ]);
  });

  test('has hours that do not overlap, also over midnight and the end of the week', () => {
    const hours = (...all: readonly string[]) =>
      `{ input: 1, output: 1, hours: [${all.map((one) => `{ input: 2, output: 2, ${one} }`).join(', ')}] }`;
    const late = 'from: "22:00", to: "02:00", days: [sun]';
    expect(errorsOf(hours(late, 'from: "01:59", to: "03:00", days: [mon]'))).toEqual([
      expect.stringContaining('two `hours` of a price have the same minutes'),
    ]);
    expect(errorsOf(hours(late, 'from: "02:00", to: "03:00", days: [mon]'))).toEqual([]);
    expect(errorsOf(hours('from: "25:00", to: "03:00"'))).toEqual([expect.stringContaining('hours[0].from')]);
  });

  test('has `billed_at` only if it changes', () => {
    expect(errorsOf('{ input: 1, output: 1, billed_at: end }')).toEqual([
      '7:46 `billed_at` has no effect, because the price does not change',
    ]);
  });
});
