import { expect, test } from 'bun:test';
import type { Operation } from '../../src/admin/kit/operation.ts';
import { printed } from '../../src/cli/printed.ts';
import { everyOperation } from '../admin/every-operation.ts';

const OPERATIONS = await everyOperation();
const CLEAR_SCREEN = '\u001b[2J';
const NAME = `crm${CLEAR_SCREEN}\u202e\nroot`;
const USAGE = { group: { [NAME]: NAME }, charges: 1, input_tokens: 1, output_tokens: 1, credits: 1, usd: '0.001' };

const named = (name: string): Operation => {
  const found = OPERATIONS.find((operation) => operation.name === name);
  if (!found) throw new Error(`There is no operation ${name}.`);
  return found;
};

test.each([
  ['keys list', { data: [{ id: 'k1', name: NAME, labels: { [NAME]: NAME }, scopes: [], budgets: [] }] }],
  ['keys show', { id: 'k1', name: NAME, labels: { [NAME]: NAME }, scopes: [], budgets: [] }],
  ['ledger usage', { by: [NAME], groups: [USAGE], counted_until: '2026-11-20T09:30:00.000Z' }],
  ['logins end', { user_name: NAME, key_name: null }],
])('%s prints names without characters that control the terminal', (name, body) => {
  const text = printed(named(name), body, 'id');
  expect(text.toLowerCase()).toContain('crm\ufffd[2j');
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
});

test('a name with a line break stays in its row', () => {
  const body = { data: [{ id: 'k1', name: 'a\nb', scopes: [], budgets: [] }] };
  // The head, and the row.
  expect(printed(named('keys list'), body, '').trimEnd().split('\n').length).toBe(2);
});
