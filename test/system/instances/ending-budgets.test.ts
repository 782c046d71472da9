import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../../deep/effort.ts';
import { grantedAfterLateTerms, LAW, lawOf } from '../../instances/ending-budgets-law.ts';
import { inPostgres } from './books.ts';

test(`in PostgreSQL, ${LAW}`, async () => {
  await fc.assert(lawOf(inPostgres), tries('budgets with an end, in PostgreSQL', 6, 300));
});

test('in PostgreSQL, the law of budgets with an end fails for servers that keep their terms', async () => {
  const how = { ...tries('budgets with an end, in PostgreSQL', 60, 300), endOnFailure: true };
  expect((await fc.check(lawOf(inPostgres, false), how)).failed).toBe(true);
});

test('in PostgreSQL, a server that is late with its earlier terms does not bring back a budget that has ended', async () => {
  expect(await grantedAfterLateTerms(inPostgres)).toBe(0);
});
