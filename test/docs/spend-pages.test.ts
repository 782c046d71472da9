import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, SMALL, snapshotOf } from '../policy/support.ts';

const pageOf = (name: string): string => readFileSync(join(import.meta.dir, '../../docs/spend', name), 'utf8');

/** A small policy with the examples of a page, without a warning. */
function snapshotWith(page: string) {
  const examples = [...page.matchAll(/^```yaml policy\n([\s\S]*?)^```$/gm)].map(([, text = ''], at) => ({
    path: `example-${at}.yaml`,
    text,
  }));
  const result = load([{ path: 'p.yaml', text: SMALL }, ...examples]);
  expect(result.diagnostics).toEqual([]);
  return snapshotOf(result);
}

test('the examples of docs/spend/rate-limits.md are right, without a warning', () => {
  const { rateLimits, gateway } = snapshotWith(pageOf('rate-limits.md'));
  expect(rateLimits.map(({ name }) => name)).toEqual(['per-key', 'free-tier']);
  expect(gateway.trustedProxies).toHaveLength(2);
});

test('the example of docs/spend/budgets.md is right, without a warning', () => {
  expect(snapshotWith(pageOf('budgets.md')).budgets.map(({ name }) => name)).toEqual([
    'every-team',
    'interns-in-a-day',
    'search-models',
    'both-teams',
    'run',
  ]);
});
