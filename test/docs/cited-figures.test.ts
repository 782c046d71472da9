import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The cost of a request is measured by one command, stands in one table, and is cited elsewhere. */
const ROOT = join(import.meta.dir, '../..');
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** The ratio to the floor in the summary of the ladder, with prompts of their own, to one decimal. */
function ratioOf(rung: string): string {
  const row = read('docs/benchmarks.md')
    .split('\n')
    .find((line) => line.startsWith(`| ${rung} `));
  const ratio = Number(row?.split('|')[3]);
  expect(ratio).toBeGreaterThan(0);
  return ratio.toFixed(1);
}

test.each(['README.md', 'docs/operate/limits.md', 'docs/decisions/0018-what-a-request-costs.md'])(
  '%s cites what the table of the benchmarks says a request costs',
  (page) => {
    const [auto, full] = [ratioOf('chat with `auto`'), ratioOf('and rules, budgets, limits, learning')];
    expect(read(page).replaceAll('\n', ' ')).toContain(`${auto} times`);
    expect(read(page).replaceAll('\n', ' ')).toContain(`${full} with every feature`);
  },
);

test('the README cites the latency that a request adds', () => {
  const [, added] = /`auto` adds (\d+\.\d+) ms/.exec(read('docs/benchmarks.md')) ?? [];
  expect(read('README.md')).toContain(`${Number(added).toFixed(1)} ms`);
});
