import type { Budget } from '../../../src/core/money/budget.ts';
import { budget } from '../../ledger/support.ts';

const all = (limit: number, name = 'all') => budget(limit, { name, window: 'day' });
const each = (limit: number) =>
  budget(limit, {
    name: 'each',
    each: ({ key }) => key.id,
    definition: JSON.stringify(['', 'key', 'day']),
    window: 'day',
  });

/** The budgets of the policies that instances get, in any order and at any time. */
export const VARIANTS: readonly (readonly Budget[])[] = [
  [all(400_000), each(60_000)],
  [each(60_000), all(400_000)],
  [all(300_000), each(60_000)],
  [all(400_000, 'everything'), each(60_000)],
  [all(400_000)],
];
