import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, SMALL, snapshotOf } from '../policy/support.ts';

/** Loads a small policy together with the examples of a page. */
function loadWith(page: string) {
  const text = readFileSync(join(import.meta.dir, '../../docs', page), 'utf8');
  const examples = [...text.matchAll(/^```yaml policy\n([\s\S]*?)^```$/gm)].map(([, text = ''], at) => ({
    path: `example-${at}.yaml`,
    text,
  }));
  return load([{ path: 'p.yaml', text: SMALL }, ...examples]);
}

/** Compiles the examples of a page, and expects neither an error nor a warning. */
function snapshotWith(page: string) {
  const result = loadWith(page);
  expect(result.diagnostics).toEqual([]);
  return snapshotOf(result);
}

test('a policy with the examples of docs/spend/rate-limits.md loads without a warning', () => {
  const { rateLimits, gateway } = snapshotWith('spend/rate-limits.md');
  expect(rateLimits.map(({ name }) => name)).toEqual(['per-key', 'free-tier']);
  expect(gateway.trustedProxies).toHaveLength(2);
});

test.each([
  ['spend/budgets.md', ['every-team', 'interns-in-a-day', 'everyone', 'run']],
  ['spend/team-budgets.md', ['search-models', 'both-teams']],
])('a policy with the examples of docs/%s loads without a warning', (page, names) => {
  expect(snapshotWith(page).budgets.map(({ name }) => name)).toEqual(names);
});

test.each([
  ['route/fallback.md', ['a', 'b']],
  ['clients/timeouts.md', ['silent-model']],
])('a policy with the models of docs/%s loads without an error', (page, names) => {
  const ids = snapshotOf(loadWith(page)).models.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(names));
});
