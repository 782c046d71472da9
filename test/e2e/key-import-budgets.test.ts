import { Database } from 'bun:sqlite';
import { afterEach, expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { answerOf } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Budgets of imported keys, with what they spent before, through a server whose clock the tests set. */
const upstream = useUpstream();
const DAY_MS = 86_400_000;
let box: Signalbox | null = null;
let ahead = 0;
afterEach(async () => {
  await box?.stop();
  box = null;
  ahead = 0;
});

const start = async (): Promise<Signalbox> => {
  const policy = testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'], price: { input: 1, output: 4 } } },
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV, now: () => Date.now() + ahead });
  return box;
};
/** The beginning of a quarter of an hour, some days from now. */
const inDays = (days: number) => Math.ceil((Date.now() + days * DAY_MS) / 900_000) * 900_000;

async function imported(file: object | string, apply = true) {
  const text = typeof file === 'string' ? file : JSON.stringify({ keys: [file] });
  const answer = await box!.post('/admin/keys/import', { file: text, apply });
  return (await answer.json()) as { keys: { id: string; action: string; reason: string | null }[] };
}
interface Shown {
  readonly budgets: readonly { readonly [name: string]: unknown }[];
}
const budgetOf = async (id: string) =>
  ((await (await box!.get(`/admin/keys/${id}`)).json()) as Shown).budgets[0] as Record<string, unknown>;
async function chat(key: string) {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const answer = await box!.post('/v1/chat/completions', { model: 'best', messages, max_tokens: 20 }, withKey(key));
  await answerOf(answer);
  return answer.status;
}
const foreignKey = () => `sk-${randomBytes(24).toString('hex')}`;
const row = (key: string, more: object) => ({ token: createHash('sha256').update(key).digest('hex'), ...more });

test('what a key has spent counts until the reset of its budget, and in no usage, and the audit finds nothing wrong', async () => {
  await start();
  const key = foreignKey();
  const reset = inDays(5);
  const of = { max_budget: 10, budget_duration: '30d', budget_reset_at: new Date(reset).toISOString() };
  const { keys } = await imported(row(key, { ...of, spend: 10 }));
  expect(await chat(key)).toBe(402);
  const id = keys[0]!.id;
  expect(await budgetOf(id)).toMatchObject({
    ...{ limit_usd: '10', window: 'every', spent_usd: '10', left_usd: '0' },
    every: { seconds: 30 * 86_400, from: of.budget_reset_at },
    renews_at: of.budget_reset_at,
  });
  ahead = reset - Date.now() + 1_000;
  expect(await chat(key)).toBe(200);
  const { spent_usd, renews_at } = await budgetOf(id);
  expect(Number(spent_usd)).toBeLessThan(0.01);
  expect(renews_at).toBe(new Date(reset + 30 * DAY_MS).toISOString());
  const usage = await (await box!.get(`/admin/usage?key=${id}`)).text();
  expect(usage).not.toContain('"spent_usd":"10');
  const audits = async () => [
    (await box!.run('ledger', 'audit')).code,
    (await box!.run('ledger', 'audit', '--offline')).code,
  ];
  expect(await audits()).toEqual([0, 0]);
  using db = new Database(join(box!.data, 'signalbox.db'));
  db.run('UPDATE keys SET budgets = replace(budgets, \'"spent":\', \'"spent":1\') WHERE id = ?', [id]);
  expect(await audits()).toEqual([2, 2]);
  expect((await box!.run('ledger', 'audit')).out).toContain(id);
});

test('a repeated import with other spend changes the opening of the budget, and a changed limit keeps it', async () => {
  await start();
  const key = foreignKey();
  const of = { max_budget: 10, budget_duration: '24h', budget_reset_at: new Date(inDays(0.5)).toISOString() };
  const { keys } = await imported(row(key, { ...of, spend: 10 }));
  const id = keys[0]!.id;
  expect(await chat(key)).toBe(402);
  expect((await imported(row(key, { ...of, spend: 10 }))).keys[0]!.action).toBe('same');
  expect((await imported(row(key, { ...of, spend: 9.5 }))).keys[0]!.action).toBe('change');
  expect(await chat(key)).toBe(200);
  const { every } = await budgetOf(id);
  const body = JSON.stringify({ budgets: [{ limit_usd: 9.5, window: 'every', every }] });
  expect((await box!.get(`/admin/keys/${id}`, { method: 'PATCH', body })).status).toBe(200);
  expect(await budgetOf(id)).toMatchObject({ opening: { spent_credits: 9_500 } });
  expect(await chat(key)).toBe(402);
});

test('a total budget keeps its opening for good, and a CSV states budgets and spend', async () => {
  await start();
  const [total, rolling] = [foreignKey(), foreignKey()];
  const resets = new Date(inDays(2)).toISOString();
  const head = 'key,name,budget,spent,resets';
  const { keys } = await imported(`${head}\n${total},a,10 USD/total,10 USD,\n${rolling},b,10USD/7d,10USD,${resets}\n`);
  expect(keys.map(({ action }) => action)).toEqual(['create', 'create']);
  expect([await chat(total), await chat(rolling)]).toEqual([402, 402]);
  ahead = 3 * DAY_MS;
  expect([await chat(total), await chat(rolling)]).toEqual([402, 200]);
});

test('a budget whose next reset nobody knows is refused, and so is spend without its window', async () => {
  await start();
  const unknown = await imported(row(foreignKey(), { max_budget: 1, budget_duration: '30d' }));
  const tiny = await imported(
    row(foreignKey(), { max_budget: 1, budget_duration: '7s', budget_reset_at: '2026-12-01' }),
  );
  const csv = await imported(`key,budget,spent\n${foreignKey()},5/month,1\n${foreignKey()},,1\n`);
  expect([unknown, tiny, csv].flatMap(({ keys }) => keys.map(({ action }) => action))).toEqual(Array(4).fill('refuse'));
});

test('a command creates a budget with windows of a length', async () => {
  await start();
  const made = await box!.run('keys', 'create', '--budget', '5USD/12h@2026-11-12T08:00Z:reject', '--json');
  expect(JSON.parse(made.out).budgets).toMatchObject([
    { window: 'every', every: { seconds: 43_200, from: '2026-11-12T08:00:00.000Z' }, on_exhausted: 'reject' },
  ]);
  const refused = await box!.run('keys', 'create', '--budget', '5USD/12h@2026-11-12T08:05Z');
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('quarter of an hour')]);
});
