import { expect, test } from 'bun:test';
import { daysShown } from '../../src/console/shell/days.ts';
import { fundName } from '../../src/console/views/overview/fund-name.ts';
import { savedFigure, savedLabel } from '../../src/console/views/overview/saved.ts';

/** Tests the words and days of periods that reach back before the first request of an installation. */
const DAY_MS = 86_400_000;
const NOW = new Date(2026, 10, 20, 12).getTime();
const day = (date: number): string => new Date(2026, 10, date, 9).toISOString();

test('the choice of days opens with the shown period, from the first day with a request', () => {
  const week = { ms: 7 * DAY_MS, days: null };
  expect(daysShown(week, null, NOW)).toEqual({ from: '2026-11-13', to: '2026-11-20' });
  expect(daysShown(week, day(2), NOW)).toEqual({ from: '2026-11-13', to: '2026-11-20' });
  expect(daysShown(week, day(18), NOW)).toEqual({ from: '2026-11-18', to: '2026-11-20' });
  const chosen = { ms: 5 * DAY_MS, days: { from: '2026-11-04', to: '2026-11-08' } };
  expect(daysShown(chosen, day(6), NOW)).toEqual({ from: '2026-11-06', to: '2026-11-08' });
  // A period without any request stays as it is.
  expect(daysShown(chosen, day(18), NOW)).toEqual(chosen.days);
});

test('spend above the baseline is named as such, and no saving is negative', () => {
  expect([savedLabel(-830), savedFigure('-0.83').short]).toEqual(['More than the baseline', '$0.83']);
  expect([savedLabel(830), savedFigure('0.83').short]).toEqual(['Saved', '$0.83']);
  expect(savedLabel(0)).toBe('Saved');
});

test('a budget that its author named after its team does not name the team twice', () => {
  const named = (name: string, called: string | null, title: string) => fundName({ name, title, subject_name: called });
  expect(named('search', 'search', 'search of search')).toBe('search');
  expect(named('search-month', 'search', 'search-month of search')).toBe('search-month');
  expect(named('team-month', 'search', 'team-month of search')).toBe('team-month of search');
  expect(named('research', 'search', 'research of search')).toBe('research of search');
});
