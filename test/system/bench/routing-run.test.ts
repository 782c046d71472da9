import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chanceOf } from '../../../bench/routing/chance.ts';
import { readData, rowOf } from '../../../bench/routing/data.ts';
import { writePlots } from '../../../bench/routing/plots.ts';
import { poolsOf } from '../../../bench/routing/pools.ts';
import { textOf } from '../../../bench/routing/report.ts';
import { runPool } from '../../../bench/routing/run-pool.ts';
import { tierEntries, WORTHS } from '../../../bench/routing/tiers.ts';
import { trialsOf } from '../../../bench/routing/trials.ts';

const folder = mkdtempSync(join(tmpdir(), 'bench-routing-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Lines of two kinds of prompts: `large` answers both kinds well, `small` only additions. */
function lines(count: number, source: string): string {
  const chance = chanceOf(count);
  return Array.from({ length: count }, (_, at) => {
    const isSum = at % 2 === 0;
    const labels = { small: Number(chance() < (isSum ? 0.9 : 0.1)), large: Number(chance() < 0.8), unpriced: 1 };
    const prompt = isSum ? `Add ${at} and ${at + 3}, please.` : `Who wrote the letter of the year ${1400 + at}?`;
    return JSON.stringify({ id: `${source}/${at}`, source, prompt, labels, category: isSum ? 'sums' : 'letters' });
  }).join('\n');
}

writeFileSync(join(folder, 'heldout.jsonl.gz'), Bun.gzipSync(lines(300, 'letters-and-sums')));
writeFileSync(join(folder, 'train.jsonl'), lines(120, 'elsewhere'));
writeFileSync(
  join(folder, 'models.json'),
  JSON.stringify({
    models: {
      small: { in_per_1m: 0.1, out_per_1m: 0.2, mean_out_tokens: { 'letters-and-sums': 20 } },
      large: { in_per_1m: 2, out_per_1m: 8 },
      unpriced: { in_per_1m: null },
    },
  }),
);
const data = readData(folder);

describe('data', () => {
  test('the benchmark reports a faulty line with its file, line and field', () => {
    const told = (line: string) => () => rowOf(line, 'x.jsonl:7');
    expect(told('{')).toThrow(/^x\.jsonl:7: no JSON/);
    expect(told('{"id": "a", "source": "s", "prompt": "p"}')).toThrow(/^x\.jsonl:7: labels: /);
    expect(told('{"id": "a", "source": "s", "prompt": "p", "labels": {"m": 2}}')).toThrow(/^x\.jsonl:7: labels\/m: /);
    expect(() => readData(join(folder, 'nowhere'))).toThrow('there is no folder');
  });

  test('a source without its own pool gets all its models that have a price, by cost', () => {
    const [pool] = poolsOf(data);
    expect(pool?.models).toEqual(['small', 'large']);
    expect(pool?.train).toBeNull();
  });
});

describe('trials', () => {
  const [pool] = poolsOf(data);
  const trials = trialsOf(pool!, data.parts.train, 2, 5);

  test('trials learn from rows that they do not measure, and choose the same rows for the same seed', () => {
    for (const { teach, test: measured } of trials) {
      const taught = new Set(teach.rows.map(({ id }) => id));
      expect(measured.rows.some(({ id }) => taught.has(id))).toBe(false);
      expect(teach.rows.length + measured.rows.length).toBe(300);
    }
    expect(trialsOf(pool!, data.parts.train, 2, 5)).toEqual(trials);
    expect(trials[0]!.testRows).not.toEqual(trials[1]!.testRows);
  });
});

test('a run of tiers measures every router for each worth, and no choice on the labels beats the oracle', () => {
  const [pool] = poolsOf(data);
  const entries = tierEntries(trialsOf(pool!, data.parts.train, 1, 5), data.models, 10, 1, () => {});
  const routers = new Set(entries.map(({ router }) => router));
  for (const router of ['one model, chosen on the labels', 'Signalbox, tiers', 'Signalbox, tiers and escalation']) {
    expect(entries.filter((one) => one.router === router).map(({ worth }) => worth)).toEqual([...WORTHS]);
  }
  expect(entries.length).toBe(routers.size * WORTHS.length);
  // Two answers can be worth more than the best single answer of an oracle.
  const single = entries.filter(({ router }) => !/another|escalation/.test(router));
  expect(single.filter(({ closed: { mean } }) => !(mean <= 1))).toEqual([]);
});

test('a complete run measures, reports and draws every router', () => {
  const task = { folder, pool: 'letters-and-sums', splits: 1, resamples: 20, seed: 1 };
  const report = runPool(task, () => {});
  const routers = new Set(report.entries.map(({ router }) => router));
  for (const router of ['oracle', 'random', 'length', 'keywords', 'n-grams', 'Signalbox, tasks declared']) {
    expect(routers).toContain(router);
  }
  for (const { gain, apgr, router } of report.entries) {
    expect([router, Number.isFinite(gain.mean), Number.isFinite(apgr?.mean)]).toEqual([router, true, true]);
  }
  const text = textOf(report);
  expect(text).toMatch(/\| Signalbox, tasks declared +\|/);
  expect(text).not.toContain('NaN');
  const names = writePlots([report], folder);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(names));
  for (const name of names) expect(readFileSync(join(folder, name), 'utf8')).toStartWith('<svg');
});
