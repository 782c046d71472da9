import { expect, test } from 'bun:test';
import { budgetTermsText, cappingText, fundText, timeZoneText } from '../../../src/core/money/budget-words.ts';
import { titleText } from '../../../src/ledger/fund-words.ts';
import { holderBudgets } from '../../../src/ledger/holder-budgets.ts';

test.each([
  ['Europe/Berlin', 'Berlin time'],
  ['America/Argentina/Buenos_Aires', 'Buenos Aires time'],
  ['UTC', 'UTC'],
  ['Etc/UTC', 'UTC'],
  ['+02:00', 'UTC+02:00'],
  ['Etc/GMT+5', 'Etc/GMT+5'],
])('the time zone %s is written with its city', (zone, text) => expect(timeZoneText(zone)).toBe(text));

const MONTH = { window: 'month', timeZone: 'Europe/Berlin', onExhausted: 'downgrade', limit: 1 } as const;

test('a budget of a level is named by its window, holder and time zone, without the parts of its ID', () => {
  const [budget] = holderBudgets([{ kind: 'team', id: 'team_1', budgets: [MONTH] }]);
  const title = { kind: 'budget', name: budget!.name, subject: 'team_1', definition: budget!.definition } as const;
  const fund = { ...title, window: budget!.window, starts: 0, ends: 1 };
  expect(titleText(fund, 'search')).toBe('month of team search, Berlin time');
  expect(titleText(fund, null)).toBe('month of team team_1, Berlin time');
});

test('a budget of the policy keeps the name of its author, and a balance is named by its holder', () => {
  const budget = { kind: 'budget', name: 'team-month', holder: null, window: 'month', timeZone: 'Asia/Tokyo' } as const;
  expect(fundText({ ...budget, subject: 'search' })).toBe('team-month of search');
  expect(fundText({ ...budget, subject: '' })).toBe('team-month');
  const balance = { kind: 'balance', subject: '', holder: null, window: null, timeZone: null } as const;
  expect(fundText({ ...balance, name: 'k7mw2pq9x4ta' })).toBe('balance of key k7mw2pq9x4ta');
  const wallet = `0x${'ab'.repeat(20)}`;
  expect(fundText({ ...balance, name: wallet })).toBe(`balance of wallet ${wallet}`);
});

test('the terms of a budget are one sentence with both units, and name no time zone for a budget that never renews', () => {
  const terms = { limit_credits: 20_000, limit_usd: '20', time_zone: 'Europe/Berlin' } as const;
  expect(budgetTermsText({ ...terms, window: 'month', on_exhausted: 'downgrade' })).toBe(
    '20,000 Credits (20 USD) a month, Berlin time, then cheaper models',
  );
  expect(budgetTermsText({ ...terms, limit_usd: null, window: 'total', on_exhausted: 'reject' })).toBe(
    '20,000 Credits in total, then refusals',
  );
});

test.each([
  ['key-month@Europe/Berlin:cap', 'the monthly budget of the key (Berlin time)'],
  ['key-day@+02:00:cap', 'the daily budget of the key (UTC+02:00)'],
  ['key-total:cap', 'the budget of the key'],
  ['balance', 'the balance'],
  ['team-month', 'budget `team-month`'],
])('the fund %s that caps an output is named within a sentence', (id, text) => expect(cappingText(id)).toBe(text));
