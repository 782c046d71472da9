import { afterEach, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Budgets of keys with an end, through HTTP and the commands of a server whose clock the tests set. */
const upstream = useUpstream();
const MINUTE_MS = 60_000;
let box: Signalbox | null = null;
let ahead = 0;
afterEach(async () => {
  await box?.stop();
  box = null;
  ahead = 0;
});

interface KeyAnswer {
  readonly id: string;
  readonly key: string;
  readonly budgets: readonly { readonly limit_credits: number; readonly window: string; readonly until?: string }[];
}
const start = async (data?: string): Promise<Signalbox> => {
  const policy = testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'], price: { input: 1, output: 4 } } },
  );
  const now = () => Date.now() + ahead;
  box = await startSignalbox({ policy, env: UPSTREAM_ENV, now, ...(data !== undefined && { data }) });
  return box;
};
const keyOf = async (answer: Response): Promise<KeyAnswer> => {
  expect(answer.status).toBe(200);
  return (await answer.json()) as KeyAnswer;
};
const create = async (body: object) => keyOf(await box!.post('/admin/keys', body));
const change = (id: string, body: object) =>
  box!.get(`/admin/keys/${id}`, { method: 'PATCH', body: JSON.stringify(body) });
const shown = async (id: string) => (await keyOf(await box!.get(`/admin/keys/${id}`))).budgets;
const run = async (...args: string[]) => {
  const { code, out, err } = await box!.run(...args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
};

async function chat({ key }: Pick<KeyAnswer, 'key'>) {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const answer = await box!.post('/v1/chat/completions', { model: 'best', messages, max_tokens: 20 }, withKey(key));
  const { error } = await answerOf(answer);
  return { status: answer.status, error };
}
const inMinutes = (minutes: number) => new Date(Date.now() + ahead + minutes * MINUTE_MS).toISOString();
const BIG = 1_000;
const NONE = { limit_credits: 0, window: 'day', time_zone: 'UTC', on_exhausted: 'reject' };

test('a budget with an end replaces the budget of the same window, which applies again from the first request after it', async () => {
  await start();
  const key = await create({ budgets: [NONE] });
  expect((await chat(key)).status).toBe(402);
  const until = inMinutes(10);
  const changed = await keyOf(
    await change(key.id, { budgets: [{ limit_credits: BIG, window: 'day', on_exhausted: 'reject', until }] }),
  );
  expect(changed.budgets.map(({ limit_credits, until }) => [limit_credits, until])).toEqual([
    [0, undefined],
    [BIG, until],
  ]);
  expect((await chat(key)).status).toBe(200);
  ahead = 10 * MINUTE_MS + 1_000;
  // No request and no timer renews the budgets before this request.
  expect((await chat(key)).status).toBe(402);
  expect(await shown(key.id)).toMatchObject([{ limit_credits: 0 }]);
  expect((await shown(key.id))[0]).not.toHaveProperty('until');
});

test('a lower budget for a time refuses with its end, and afterwards the first request is served', async () => {
  await start();
  const key = await create({ budgets: [{ ...NONE, limit_credits: BIG }] });
  const until = inMinutes(10);
  await change(key.id, { budgets: [{ ...NONE, until }] });
  const { status, error } = await chat(key);
  expect(status).toBe(402);
  expect(error?.details).toMatchObject({ limit_credits: 0, until });
  expect(error?.message).toContain(until);
  ahead = 10 * MINUTE_MS + 1_000;
  expect((await chat(key)).status).toBe(200);
});

test('a budget with an end that replaces none leaves the key without a budget afterwards', async () => {
  await start();
  const key = await create({ budgets: [{ ...NONE, until: inMinutes(10) }] });
  expect((await chat(key)).status).toBe(402);
  ahead = 10 * MINUTE_MS + 1_000;
  expect((await chat(key)).status).toBe(200);
  expect(await shown(key.id)).toEqual([]);
});

test('budgets of other windows go on to apply', async () => {
  await start();
  const key = await create({ budgets: [{ ...NONE, window: 'month' }] });
  await change(key.id, { budgets: [{ ...NONE, limit_credits: BIG, until: inMinutes(10) }] });
  const { status, error } = await chat(key);
  expect([status, error?.details?.window]).toEqual([402, 'month']);
});

test('keys change --budget AMOUNT/today ends with the day of the time zone, and keeps the other budgets', async () => {
  await start();
  const key = await create({ budgets: [NONE, { ...NONE, window: 'month', limit_credits: 500 }] });
  await run('keys', 'change', key.id, '--budget', '20USD/today@Asia/Tokyo:reject');
  const tomorrow = Temporal.Now.zonedDateTimeISO('Asia/Tokyo').startOfDay().add({ days: 1 }).toInstant();
  const budgets = await shown(key.id);
  expect(budgets).toMatchObject([
    { limit_credits: 0, window: 'day' },
    { limit_credits: 500, window: 'month' },
    { limit_credits: 20_000, window: 'day', time_zone: 'Asia/Tokyo' },
  ]);
  expect(Date.parse(budgets[2]?.until ?? '')).toBe(tomorrow.epochMilliseconds);
  expect((await chat(key)).status).toBe(200);
  expect(await run('keys', 'show', key.id)).toContain(tomorrow.toString().slice(0, 10));
  await run('keys', 'change', key.id, '--budget', '7/day');
  expect(await shown(key.id)).toMatchObject([{ limit_credits: 7 }]);
});

test('an end in the past is refused, with its field', async () => {
  await start();
  const { id } = await create({});
  const answer = await change(id, { budgets: [{ ...NONE, until: inMinutes(-1) }] });
  const { error } = await answerOf(answer);
  expect([answer.status, error?.param]).toEqual([400, 'budgets[0].until']);
});

test('a budget with an end survives a restart, and ends while the server is stopped', async () => {
  const data = temporaryFolder();
  const first = await start(data);
  const key = await create({ budgets: [NONE, { ...NONE, limit_credits: BIG, until: inMinutes(10) }] });
  await first.stop();
  const second = await start(data);
  expect((await chat(key)).status).toBe(200);
  await second.stop();
  ahead = 10 * MINUTE_MS + 1_000;
  await start(data);
  expect((await chat(key)).status).toBe(402);
});
