import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { counter, gauge, histogram } from '../../../src/host/telemetry/counts.ts';
import type { Family } from '../../../src/host/telemetry/families.ts';
import { metricsPage } from '../../../src/host/telemetry/page.ts';
import { readPage, total } from '../../support/prometheus.ts';

const ERRORS = 'signalbox_metrics_errors_total';

describe('a metrics page', () => {
  test('each metrics page has the values of the moment when it is made', async () => {
    let figure = 1;
    const page = metricsPage([gauge('figure', 'A figure.', () => figure)]);
    expect(total(readPage(await page()), 'figure')).toBe(1);
    figure = 2;
    expect(total(readPage(await page()), 'figure')).toBe(2);
  });

  test('a metrics page can be parsed back to its input, for any names', async () => {
    const law = fc.asyncProperty(
      fc.uniqueArray(fc.string({ unit: 'grapheme' }), { maxLength: 8 }),
      fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => `A ${text}`),
      async (names, help) => {
        const things = counter({ name: 'n_total', help, labels: ['name'] });
        const times = histogram({ name: 'n_seconds', help, labels: ['name'], bounds: [1] });
        for (const [at, name] of names.entries()) {
          things.at(name).value = at + 0.5;
          times.at(name).observe(at);
        }
        const page = readPage(await metricsPage([things.family, times.family])());
        const read = page.get('n_total')!.samples.map(({ labels, value }) => [labels.name, value]);
        expect(read).toEqual(names.map((name, at) => [name, at + 0.5]));
        for (const [at, name] of names.entries()) expect(total(page, 'n_seconds_sum', { name })).toBe(at);
      },
    );
    await fc.assert(law, { numRuns: 200 });
  });

  test('a metrics page omits a family that cannot be read, and counts the failure', async () => {
    const bad = gauge('bad', 'It fails.', () => {
      throw new Error('no');
    });
    const half: Family = {
      ...gauge('half', 'It fails midway.', () => 0),
      *samples() {
        yield [{}, 1] as const;
        throw new Error('no');
      },
    };
    const page = metricsPage([bad, half, gauge('good', 'It is there.', () => 7)]);
    const first = readPage(await page());
    expect(first.get('bad')!.samples).toEqual([]);
    expect(first.get('half')!.samples).toEqual([]);
    expect([total(first, 'good'), total(first, ERRORS)]).toEqual([7, 2]);
    expect(total(readPage(await page()), ERRORS)).toBe(4);
  });

  test('two metric families with the same name, and names that Prometheus rejects, are errors', () => {
    const family = gauge('twice', 'It is there twice.', () => 0);
    expect(() => metricsPage([family, { ...family }])).toThrow('twice');
    expect(() => metricsPage([gauge('two words', 'No name.', () => 0)])).toThrow();
    expect(() => metricsPage([{ ...family, labels: ['two words'] }])).toThrow();
    expect(() => metricsPage([gauge(ERRORS, 'Its own.', () => 0)])).toThrow(ERRORS);
  });

  test('a metrics page has no sample for an empty family without labels', async () => {
    const none: Family = { name: 'none', help: 'It is not known.', labels: [], type: 'gauge', samples: () => [] };
    expect(readPage(await metricsPage([none])()).get('none')!.samples).toEqual([]);
  });
});

describe('the page parser', () => {
  const refused: Readonly<Record<string, string>> = {
    'a sample without a family': 'a 1\n',
    'a family without a type': '# HELP a A.\n',
    'a series twice': '# HELP a A.\n# TYPE a gauge\na{x="1"} 1\na{x="1"} 2\n',
    'a family twice': '# HELP a A.\n# TYPE a gauge\n# HELP a A.\n# TYPE a gauge\n',
    'a label that is not escaped': '# HELP a A.\n# TYPE a gauge\na{x="1"2"} 1\n',
    'a value that is not a number': '# HELP a A.\n# TYPE a gauge\na Nan\n',
    'a counter with another name': '# HELP a A.\n# TYPE a counter\na 1\n',
    'buckets that do not add up':
      '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
    'a histogram without its last bucket': '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n',
    'a page that was cut off': '# HELP a A.\n# TYPE a gauge\na 1',
  };
  for (const [what, text] of Object.entries(refused)) {
    test(`the parser of metrics pages rejects ${what}`, () => {
      expect(() => readPage(text)).toThrow();
    });
  }
});
