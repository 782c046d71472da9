import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { BilledLine } from '../../../src/ledger/reconcile/billed.ts';
import { Comparison, type Difference } from '../../../src/ledger/reconcile/compare.ts';
import { chargeOf, costOf, dayOf, linesOf, months, type Request } from './month.ts';

async function compared(lines: readonly BilledLine[], books: readonly Request[], account: string | null = null) {
  const comparison = new Comparison(lines, account);
  const charges = books.map(chargeOf);
  for (const charge of charges) comparison.book(charge);
  return comparison.differences(async (model, day) =>
    charges.filter((one) => one.model === model && one.day === day).map(({ units }) => units),
  );
}

const runs = { numRuns: 15 };
const law = (body: (requests: readonly Request[], at: number) => Promise<void>) =>
  fc.assert(
    fc.asyncProperty(months, fc.nat(), (requests, at) => body(requests, at % requests.length)),
    runs,
  );
const seen = (found: readonly Difference[]) => found.map(({ kind, from, model }) => ({ kind, from, model }));
const costOfRequest = ({ model, units }: Request): bigint =>
  Object.entries(units).reduce((sum, [unit, amount]) => sum + costOf(model, unit, amount), 0n);
const only = (found: readonly Difference[]): Difference => {
  expect(found).toHaveLength(1);
  return found[0]!;
};

test('a clean month has no differences', () =>
  law(async (requests) => {
    expect(await compared(linesOf(requests), requests)).toEqual([]);
    const dated = linesOf(requests).map((line) => ({ ...line, model: `${line.model}-2026-08-06` }));
    expect(await compared(dated, requests)).toEqual([]);
  }));

describe('a planted error is named with its day and its amount:', () => {
  test('a price that changed', () =>
    law(async (requests, at) => {
      const since = dayOf(requests[at]!.time);
      const isDearer = ({ day, model, unit }: BilledLine) => day >= since && model === 'glow-mini' && unit === 'output';
      const lines = linesOf(requests).map((line) => (isDearer(line) ? { ...line, usd: line.usd! * 2n } : line));
      const dearer = lines.filter(isDearer);
      const found = await compared(lines, requests);
      if (dearer.length === 0) return expect(found).toEqual([]);
      const one = only(found);
      const first = dearer.map(({ day }) => day).sort()[0]!;
      expect(one).toMatchObject({ kind: 'price_changed', model: 'glow-mini', unit: 'output', from: first });
      expect(one.usd).toBe(dearer.reduce((sum, { usd }) => sum + usd! / 2n, 0n));
      expect(one.detail).toBe('1.2 instead of 0.6 USD per 1M');
    }));

  test('a service tier', () =>
    law(async (requests, at) => {
      const { time, model } = requests[at]!;
      const isTiered = (line: BilledLine) => line.day === dayOf(time) && line.model === model;
      const lines = linesOf(requests).map((line) =>
        isTiered(line) ? { ...line, tier: 'priority', usd: line.usd && (line.usd * 3n) / 2n } : line,
      );
      const one = only(await compared(lines, requests));
      expect(one).toMatchObject({ kind: 'tier', from: dayOf(time), model, detail: 'the tier priority' });
      expect(one.usd).toBe(lines.filter(isTiered).reduce((sum, { usd }) => sum + (usd ?? 0n) / 3n, 0n));
    }));

  test('not a service tier that the books have, too', () =>
    law(async (requests, at) => {
      const { time, model } = requests[at]!;
      const isTiered = (line: { day: string; model: string | null }) =>
        line.day === dayOf(time) && line.model === model;
      const lines = linesOf(requests).map((line) => (isTiered(line) ? { ...line, tier: 'flex' } : line));
      const books = requests.map((one) =>
        isTiered({ ...one, day: dayOf(one.time) }) ? { ...one, tier: 'flex' } : one,
      );
      expect(await compared(lines, books)).toEqual([]);
      const others = books.map((one) => (one.tier ? { ...one, tier: 'priority' } : one));
      expect(only(await compared(lines, others))).toMatchObject({ kind: 'tier', detail: 'the tier flex' });
    }));

  test('a request that the bill lacks', () =>
    law(async (requests, at) => {
      const missing = requests[at]!;
      const one = only(await compared(linesOf(requests.toSpliced(at, 1)), requests));
      expect(one).toMatchObject({ kind: 'missing_requests', from: dayOf(missing.time), model: missing.model });
      expect(one.usd).toBe(-costOfRequest(missing));
    }));

  test('a request that the books lack', () =>
    law(async (requests, at) => {
      const missing = requests[at]!;
      const books = requests.toSpliced(at, 1);
      const one = only(await compared(linesOf(requests), books, 'proj_gateway'));
      expect(one).toMatchObject({ kind: 'missing_requests', from: dayOf(missing.time), model: missing.model });
      expect(one.usd).toBe(costOfRequest(missing));
    }));

  test('a request that is counted twice', () =>
    law(async (requests, at) => {
      const twice = requests[at]!;
      const ofBill = only(await compared(linesOf([...requests, twice]), requests));
      expect(ofBill).toMatchObject({ kind: 'doubled_requests', from: dayOf(twice.time), model: twice.model });
      expect(ofBill.usd).toBe(costOfRequest(twice));
      const ofBooks = only(await compared(linesOf(requests), [...requests, twice]));
      expect(ofBooks).toMatchObject({ kind: 'doubled_requests', from: dayOf(twice.time), model: twice.model });
      expect(ofBooks.usd).toBe(-costOfRequest(twice));
    }));

  test('a cache unit that the books do not know', () =>
    law(async (requests, at) => {
      const { time, model } = requests[at]!;
      const hourly = requests.map((one) => {
        const { cache_write = 0, cache_write_1h = 0 } = one.units;
        const isMoved = dayOf(one.time) === dayOf(time) && one.model === model;
        return isMoved
          ? { ...one, units: { ...one.units, cache_write: 0, cache_write_1h: cache_write + cache_write_1h } }
          : one;
      });
      const moved = requests.reduce(
        (sum, one) =>
          sum + (one.units.cache_write ?? 0) * Number(dayOf(one.time) === dayOf(time) && one.model === model),
        0,
      );
      const found = await compared(linesOf(hourly), requests);
      if (moved === 0) return expect(found).toEqual([]);
      const one = only(found);
      expect(one).toMatchObject({ kind: 'cache_unit', from: dayOf(time), model });
      expect(one.detail).toContain(`cache_write_1h +${moved}`);
      expect(one.usd).toBe(costOf(model, 'cache_write_1h', moved) - costOf(model, 'cache_write', moved));
    }));

  test('a model with another name', () =>
    law(async (requests) => {
      const lines = linesOf(requests).map((line) => (line.model === 'glow-2' ? { ...line, model: 'glow-two' } : line));
      const one = only(await compared(lines, requests));
      expect(one).toMatchObject({
        kind: 'model_renamed',
        model: 'glow-2',
        detail: 'the bill calls it glow-two',
        usd: 0n,
      });
    }));

  test('days of another time zone', () =>
    law(async (requests) => {
      const late = requests.filter(({ model }) => model === 'glow-2');
      const one = only(await compared(linesOf(late, 60 * 60 * 1_000), late));
      expect(one).toMatchObject({ kind: 'day_shifted', model: 'glow-2', usd: 0n });
    }));

  test('a discount', () =>
    law(async (requests) => {
      const lines = linesOf(requests).map((line) => ({ ...line, usd: line.usd && (line.usd * 88n) / 100n }));
      const one = only(await compared(lines, requests));
      expect(one).toMatchObject({ kind: 'discount', detail: '12.00 %' });
      const whole = requests.reduce((sum, request) => sum + costOfRequest(request), 0n);
      expect(Math.abs(Number(one.usd! + (whole * 12n) / 100n))).toBeLessThan(1_000);
    }));

  test('uses of tools', () =>
    law(async (requests, at) => {
      const { time, model } = requests[at]!;
      const more: Request = { ...requests[at]!, units: { 'tool_use/web_search': 2 } };
      const lines = [...linesOf(requests), ...linesOf([more]).filter(({ unit }) => unit !== 'requests')];
      const one = only(await compared(lines, requests));
      expect(one).toMatchObject({
        kind: 'tool_uses',
        from: dayOf(time),
        model,
        unit: 'tool_use/web_search',
        detail: 'web_search',
      });
      expect(one.billed! - one.booked!).toBe(2);
      expect(one.usd).toBe(costOf(model, 'tool_use/web_search', 2));
    }));

  test('traffic outside of the gateway', () =>
    law(async (requests, at) => {
      const outside: Request = { ...requests[at]!, units: { input: 123_457, output: 8_001 } };
      const unknown = only(await compared(linesOf([...requests, outside]), requests));
      expect(unknown).toMatchObject({ kind: 'outside_traffic', from: dayOf(outside.time), model: outside.model });
      expect(unknown.usd).toBe(costOfRequest(outside));
      const other = linesOf([outside]).map((line) => ({ ...line, account: 'proj_other' }));
      const known = only(await compared([...linesOf(requests), ...other], requests, 'proj_gateway'));
      expect(known).toMatchObject({
        kind: 'outside_traffic',
        detail: 'the account proj_other',
        usd: costOfRequest(outside),
      });
    }));
});

test('two errors on different days are both named', () =>
  law(async (requests, at) => {
    const [missing, other] = [requests[at]!, requests[(at + 97) % requests.length]!];
    if (dayOf(missing.time) === dayOf(other.time)) return;
    const outside: Request = { ...other, units: { input: 123_457, output: 8_001 } };
    const found = await compared(linesOf([...requests.toSpliced(at, 1), outside]), requests);
    expect(seen(found)).toEqual(
      [
        { kind: 'missing_requests' as const, from: dayOf(missing.time), model: missing.model },
        { kind: 'outside_traffic' as const, from: dayOf(other.time), model: other.model },
      ].sort((a, b) => (a.from < b.from ? -1 : 1)),
    );
  }));

test('a model of which the bill states only costs is compared by its costs', () =>
  law(async (requests) => {
    const lines = linesOf(requests).map((line) => (line.model === 'glow-mini' ? { ...line, amount: null } : line));
    const stated = lines.filter(({ amount, usd }) => amount !== null || usd !== null);
    expect(await compared(stated, requests)).toEqual([]);
    const lacking = stated.filter(({ model }) => model !== 'glow-mini');
    const found = await compared(lacking, requests);
    expect(found.every(({ kind, model }) => kind === 'missing_requests' && model === 'glow-mini')).toBe(true);
    expect(found).toHaveLength(
      new Set(requests.filter(({ model }) => model === 'glow-mini').map(({ time }) => dayOf(time))).size,
    );
  }));
