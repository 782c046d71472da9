import { expect, test } from 'bun:test';
import { KnownFunds } from '../../../../src/store/postgres/books/known-funds.ts';
import { fundOf } from '../../../store/suites/books.ts';

test('a poll of funds that started before the database’s latest answer is ignored', () => {
  let now = 0;
  const known = new KnownFunds(() => now);
  const fund = fundOf(50);
  const figures = () => known.standing([fund]).map(({ limit, spent }) => [limit, spent]);
  known.name(fund, 1);
  const began = known.now;
  now = 1;
  known.take([[1, 100, 10, 0, false]]);
  known.take([[1, 50, 0, 0, false]], began);
  expect(figures()).toEqual([[100, 10]]);
  known.take([[1, 90, 20, 0, false]], 2);
  expect(figures()).toEqual([[90, 20]]);
});
