import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { counter, type Histogram, histogram, type LabelledCounter } from '../../../src/host/telemetry/counts.ts';
import type { FamilySample } from '../../../src/host/telemetry/families.ts';
import { metricsPage } from '../../../src/host/telemetry/page.ts';
import { tries } from '../../deep/effort.ts';
import { allSamples, type Page, readPage, seriesName, total } from '../../support/prometheus.ts';

const SERIES_MAX = 5;
const LABELS = ['who', 'what'];
const BOUNDS = [1, 2, 5];

type Make = (max: number) => { readonly counter: LabelledCounter; readonly histogram: Histogram };

const real: Make = (max) => ({
  counter: counter({ name: 'n_total', help: 'Things.', labels: LABELS }, max),
  histogram: histogram({ name: 'n_seconds', help: 'Times.', labels: LABELS, bounds: BOUNDS }, max),
});

/** Label values that could be confused with each other or with the series for the rest. */
const name = fc.constantFrom('a', 'b', 'other', '', 'a,what:b', 'b"\\\n', '__proto__', 'le');
const told = fc.array(fc.tuple(name, name, fc.nat(8)), { maxLength: 60 });
type Events = readonly (readonly [string, string, number])[];

async function pageOf(make: Make, events: Events): Promise<Page> {
  const metrics = make(SERIES_MAX);
  for (const [who, what, value] of events) {
    metrics.counter.at(who, what).value += value;
    metrics.histogram.at(who, what).observe(value);
  }
  return readPage(await metricsPage([metrics.counter.family, metrics.histogram.family])());
}

/** Whether the page matches the events: in total, by bucket, and for each of the first label values. */
function isTrue(page: Page, events: Events): boolean {
  const sum = events.reduce((all, [, , value]) => all + value, 0);
  const has = (name: string, value: number, labels = {}) => (total(page, name, labels) ?? 0) === value;
  const series = new Set(page.get('n_total')!.samples.map(seriesName));
  const firsts = [...new Map(events.map((event) => [JSON.stringify(event.slice(0, 2)), event])).values()];
  return (
    has('n_total', sum) &&
    has('n_seconds_sum', sum) &&
    has('n_seconds_count', events.length) &&
    BOUNDS.every((le) => has('n_seconds_bucket', events.filter(([, , v]) => v <= le).length, { le: `${le}` })) &&
    series.size <= SERIES_MAX + 1 &&
    page.get('n_seconds')!.samples.length <= (SERIES_MAX + 1) * (BOUNDS.length + 3) &&
    firsts.slice(0, SERIES_MAX).every(([who, what]) => {
      if (who === 'other' && what === 'other') return true;
      const own = events.filter((event) => event[0] === who && event[1] === what);
      const value = own.reduce((all, [, , one]) => all + one, 0);
      return has('n_total', value, { who, what }) && has('n_seconds_count', own.length, { who, what });
    })
  );
}

const { numRuns, seed } = tries('counters and histograms add up over any events', 100, 5_000);

async function firstLie(make: Make): Promise<Events | null> {
  const law = fc.asyncProperty(told, async (events) => isTrue(await pageOf(make, events), events));
  const { failed, counterexample } = await fc.check(law, { numRuns, seed });
  return failed ? counterexample![0] : null;
}

describe('a counter or histogram', () => {
  test('the metrics page has the total of a metric and its values by label, with a bounded number of series', async () => {
    expect(await firstLie(real)).toBeNull();
  });

  const wrongs: Readonly<Record<string, Make>> = {
    'loses what is beyond the bound': (max) => {
      const { counter, histogram } = real(max);
      const samples = () => [...counter.family.samples()].slice(0, max);
      return { histogram, counter: { ...counter, family: { ...counter.family, samples } } };
    },
    'has no bound': () => real(1_000),
    'confuses label values that look the same when joined': (max) => {
      const { histogram } = real(max);
      const joined = counter({ name: 'n_total', help: 'Things.', labels: LABELS }, max);
      const at = (...values: string[]) => {
        const [who = '', what = ''] = values.join().split(',');
        return joined.at(who, what);
      };
      return { histogram, counter: { ...joined, at } };
    },
    'counts a value at the upper bound in the next bucket': (max) => {
      const { counter, histogram: shown } = real(max);
      const bounds = BOUNDS.map((bound) => bound - 0.5);
      const { at, family } = histogram({ ...shown.family, bounds }, max);
      const samples = () =>
        Array.from(family.samples(), ([{ le, ...labels }, value, suffix]): FamilySample => {
          const bound = BOUNDS[bounds.indexOf(Number(le))] ?? le;
          return [bound === undefined ? labels : { le: String(bound), ...labels }, value, suffix];
        });
      return { counter, histogram: { at, family: { ...family, samples } } };
    },
  };
  for (const [wrong, make] of Object.entries(wrongs)) {
    test(`the law about metrics catches a metric that ${wrong}`, async () => {
      expect(await firstLie(make)).not.toBeNull();
    });
  }

  test('a metric without labels starts at zero; a metric with labels has no series before its first event', async () => {
    const families = [
      counter({ name: 'a_total', help: 'A.', labels: [] }).family,
      counter({ name: 'b_total', help: 'B.', labels: ['x'] }).family,
      histogram({ name: 'c', help: 'C.', labels: [], bounds: [1] }).family,
    ];
    const page = readPage(await metricsPage(families)());
    expect(total(page, 'a_total')).toBe(0);
    expect(page.get('b_total')!.samples).toEqual([]);
    expect(total(page, 'c_count')).toBe(0);
  });

  test('a metric is exact in the unit in which it is counted', async () => {
    const { at, family } = counter({ name: 'credits_total', help: 'Credits.', labels: [], per: 1_000_000 });
    for (let i = 0; i < 10; i++) at().value += 100_000;
    expect(total(readPage(await metricsPage([family])()), 'credits_total')).toBe(1);
  });

  test('the metrics page omits a value that is not a number', async () => {
    const { at, family } = histogram({ name: 'c', help: 'C.', labels: [], bounds: [1] });
    at().observe(Number.NaN);
    at().observe(3);
    const page = readPage(await metricsPage([family])());
    expect(allSamples(page).filter(({ name }) => name.startsWith('c'))).toEqual([
      { name: 'c_bucket', labels: { le: '1' }, value: 0 },
      { name: 'c_bucket', labels: { le: '+Inf' }, value: 1 },
      { name: 'c_sum', labels: {}, value: 3 },
      { name: 'c_count', labels: {}, value: 1 },
    ]);
  });
});
