import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readCsv } from '../ledger/csv-support.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { makeTestKey, type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/** `GET /admin/usage/export`: a line for each charge, for people who have no shell. */

const POLICY = `version: 1
providers: { sim: { adapter: simulated } }
models:
  best:
    provider: sim
    price: { input: 1000, output: 2000, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 64
    quality: { default: 0.9, basis: guessed }
    latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }
  small:
    provider: sim
    price: { input: 100, output: 200, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 64
    quality: { default: 0.5, basis: guessed }
    latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }
`;

let box: Signalbox;
const team = { id: '', key: '', keyId: '' };
let other = '';
let refunded = '';

interface Made {
  readonly id: string;
  readonly key: string;
}
const made = async (path: string, body: object): Promise<Made> => (await (await box.post(path, body)).json()) as Made;

async function chat(key: string, model: string): Promise<string> {
  const body = { model, messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 };
  const answer = await box.post('/v1/chat/completions', body, withKey(key));
  expect(answer.status).toBe(200);
  await answer.text();
  return answer.headers.get('x-signalbox-decision-id') ?? '';
}

beforeAll(async () => {
  box = await startSignalbox({ policy: POLICY, env: { SIGNALBOX_API_KEY: makeTestKey() } });
  team.id = (await made('/admin/teams', { name: '=SUM(A1)' })).id;
  const { id, key } = await made('/admin/keys', { name: 'crm', team: team.id, labels: { env: 'live' } });
  Object.assign(team, { key, keyId: id });
  other = (await made('/admin/keys', { name: 'other' })).key;
  for (const [key, model] of [
    [team.key, 'best'],
    [team.key, 'small'],
    [other, 'small'],
  ] as const) {
    await chat(key, model);
  }
  refunded = await chat(other, 'best');
  expect((await box.run('ledger', 'refund', refunded, '0.5')).err).toBe('');
});
afterAll(() => box.stop());

const PATH = '/admin/usage/export';

async function rowsOf(query = '', key = box.key) {
  const answer = await box.get(`${PATH}${query}`, withKey(key));
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  return readCsv(await answer.text());
}

/** Sums in the smallest unit, because binary fractions do not add up. */
const sumOf = (rows: readonly Readonly<Record<string, string>>[]): number =>
  rows.reduce((sum, { credits }) => sum + Math.round(Number(credits) * 1e6), 0) / 1e6;

test('each charge and each refund is a line with time, decision, key, team, model, Credits and USD', async () => {
  await waitFor(async () => (await rowsOf()).length === 5);
  const rows = await rowsOf('?time_zone=Asia/Tokyo');
  expect(rows.map(({ kind, key_name, model }) => [kind, key_name, model])).toEqual([
    ['settle', 'crm', 'best'],
    ['settle', 'crm', 'small'],
    ['settle', 'other', 'small'],
    ['settle', 'other', 'best'],
    ['correct', 'other', ''],
  ]);
  for (const row of rows) expect(Number(row.usd)).toBeCloseTo(Number(row.credits) / 1_000, 12);
  expect(rows[0]).toMatchObject({ key_id: team.keyId, team_id: team.id, team_name: `'=SUM(A1)`, provider: 'sim' });
  expect(Date.parse(rows[0]?.time ?? '')).toBeGreaterThan(Date.now() - 600_000);
  expect(rows[4]).toMatchObject({ decision: refunded, credits: '-0.5', usd: '-0.0005' });
});

test('the lines of every filter and period add up to the report of the same query', async () => {
  const queries = ['', `?key=${team.keyId}`, `?team=${team.id}`, '?model=small', '?label=env%3Dlive', '?month=this'];
  for (const query of [...queries, '?month=last', `?key=${team.keyId}&model=best`]) {
    const report = (await (await box.get(`/admin/usage${query}`)).json()) as { total_credits: number };
    expect([query, sumOf(await rowsOf(query))]).toEqual([query, report.total_credits]);
  }
  expect((await rowsOf('?model=small')).length).toBe(2);
});

test('a report key gets names instead of IDs and no users, and filters by name', async () => {
  const { key } = await made('/admin/keys', { name: 'finance', scopes: ['report'] });
  const rows = await rowsOf('?key=crm', key);
  expect(rows.length).toBe(2);
  const columns = Object.keys(rows[0] ?? {});
  expect(columns).toContain('key_name');
  expect(columns.filter((name) => name === 'key_id' || name.startsWith('user'))).toEqual([]);
  expect(await rowsOf(`?key=${team.keyId}`, key)).toEqual([]);
  await expectError(await box.get(`${PATH}?user=a@example.com`, withKey(key)), 'invalid_value', 'user');
});

test('an ordinary key gets no export, and a wrong period is refused before the first line', async () => {
  await expectError(await box.get(PATH, withKey(other)), 'insufficient_permissions');
  await expectError(await box.get(`${PATH}?from=2020-01-01&to=2026-01-01`), 'out_of_range', 'from');
  await expectError(await box.get(`${PATH}?month=soon`), 'invalid_value', 'month');
});
