import { test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../../deep/effort.ts';
import { LAW, lawOf } from '../../instances/budgets-law.ts';
import { inPostgres } from './books.ts';

test(`in PostgreSQL, ${LAW}`, async () => {
  await fc.assert(lawOf(inPostgres), tries('budgets of two servers, in PostgreSQL', 2, 300));
});
