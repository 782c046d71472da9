import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { adviceOf, answerOf, waitFor } from '../support/answers.ts';
import { type MeteredService, type ServiceAnswer, startMeteredService } from '../support/metered-service.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, withKey, writePolicy } from '../support/signalbox.ts';

/**
 * The amount of the first hold, as a recommendation and `policy explain` report it in advance: from a key's own money, and from the
 * policy's budgets.
 */
const hi = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
/** The most that the prompt costs, in Credits. */
const PROMPT = 0.034;
let service: MeteredService;
let answer: ServiceAnswer = { tokens: 65, atOnce: 400, reports: 'last' };
let box: Signalbox;
let folder: string;

beforeAll(async () => {
  service = startMeteredService('whole', () => answer);
  const policy = testPolicy(
    { up: service.url },
    { m: { endpoints: ['up'] } },
    `gateway: { retries_max: 0, output_above_maximum: cap }
budgets:
  - { name: shared, each: key, match: 'key.labels.purse == "cap"', limit_credits: 40, window: total }
  - { name: strict, each: key, match: 'key.labels.purse == "reject"', limit_credits: 5, window: total, on_exhausted: reject }
`,
  )
    .replace('default_max_output: 1024', 'default_max_output: 15360')
    .replace('max_output: 8192', 'max_output: 15360');
  folder = writePolicy(policy);
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

const explain = (key: string, ...more: string[]) => {
  const id = key.slice('sb_live_'.length).split('_')[0]!;
  const asked = ['--key', id, '--model', 'm', '--message', 'hi', '--data', box.data, ...more];
  return runHere(['policy', 'explain', folder, ...asked], UPSTREAM_ENV);
};
const explained = async (key: string) => {
  const { out, code } = await explain(key, '--json');
  return { ...(JSON.parse(out) as { first_hold_credits: number | null; shortage: string | null }), code };
};
const advised = async (key: string) => adviceOf(await box.post('/v1/route', hi, withKey(key)));
const ask = (key: string, more = {}) => box.post('/v1/chat/completions', { ...hi, ...more }, withKey(key));

describe('the first hold of a request', () => {
  test('the first hold is the same in a recommendation, in `policy explain --key` and when it is made', async () => {
    const key = await box.makeKey('--label', 'purse=cap', '--budget', '30/month:cap');
    expect((await answerOf(await ask(key))).platform.credits_consumed).toBe(0.3);
    // Half of the 29.7 Credits that are left of the key's own budget.
    const advice = await advised(key);
    expect(advice.first_hold_credits).toBe(14.85);
    const cap = Math.floor((14_850 - 1_000 * PROMPT) / 4);
    expect(advice.reasoning).toEndWith(
      ` Its output is capped at ${cap} tokens: the monthly budget of the key cannot pay for more.`,
    );
    expect(advice.max_cost_credits).toBe((34 + 4 * cap) / 1_000);
    expect(await explained(key)).toMatchObject({ first_hold_credits: 14.85, shortage: null, code: 0 });
    const { out } = await explain(key);
    expect(out.replace(/\s+/g, ' ')).toContain(
      `14.85 Credits of the key’s money are held. The output is capped at ${cap} tokens: the monthly budget of the key cannot pay for more.`,
    );
    await answerOf(await ask(key));
    expect(service.bills.at(-1)!.cap).toBe(cap);
  });

  test('the first hold is shown with the maximum output of the model if that limits the output', async () => {
    const key = await box.makeKey('--budget', '1000/month:cap');
    const id = key.slice('sb_live_'.length).split('_')[0]!;
    const args = ['policy', 'explain', folder, '-', '--key', id, '--data', box.data];
    const { out } = await runHere(args, UPSTREAM_ENV, JSON.stringify({ ...hi, max_tokens: 32_000 }));
    expect(out.replace(/\s+/g, ' ')).toContain(
      `${(34 + 4 * 15_360) / 1_000} Credits of the key’s money are held. The output is capped at 15360 tokens: the model cannot return more.`,
    );
  });

  test('the first hold is null in a recommendation while it would wait, and the whole worst case if that fits', async () => {
    const key = await box.makeKey('--label', 'purse=cap');
    const small = { max_tokens: 7_000 };
    answer = { tokens: 7_000, atOnce: 7, everyMs: 50, reports: 'last' };
    const leaving = new AbortController();
    const before = service.bills.length;
    const post = (path: string, body: object, init: RequestInit = {}) =>
      box.post(path, body, { ...init, ...withKey(key) });
    const running = post('/v1/chat/completions', { ...hi, ...small, stream: true }, { signal: leaving.signal });
    await waitFor(() => service.bills.length > before);
    // 11.966 Credits are free.
    expect((await advised(key)).first_hold_credits).toBe(PROMPT + 4 * 2.048);
    expect(await adviceOf(await post('/v1/route', { ...hi, max_tokens: 2_000 }))).toMatchObject({
      first_hold_credits: 8.034,
      max_cost_credits: 8.034,
    });
    const other = post('/v1/chat/completions', { ...hi, ...small, stream: true }, { signal: leaving.signal });
    await waitFor(() => service.bills.length > before + 1);
    expect((await advised(key)).first_hold_credits).toBeNull();
    expect((await explained(key)).first_hold_credits).toBeNull();
    leaving.abort();
    await Promise.allSettled([running, other]);
  });

  test('no first hold is shown if no money limits the key', async () => {
    const key = await box.makeKey();
    expect(await advised(key)).not.toHaveProperty('first_hold_credits');
    expect((await explain(key)).out).not.toContain('of the key’s money');
  });
});

test('`policy explain --key` says with which error a key without enough money is refused, and uses the key’s labels', async () => {
  const key = await box.makeKey('--label', 'purse=reject');
  expect((await ask(key)).status).toBe(402);
  expect(await explained(key)).toMatchObject({ first_hold_credits: null, shortage: 'request_exceeds_budget', code: 2 });
  expect((await explain(key)).out).toContain(
    'The request is refused with 402 request_exceeds_budget: The budget `strict`',
  );
  // Labels in flags override the labels of the key.
  expect((await explain(key, '--label', 'purse=none')).out).not.toContain('is refused with');
});

describe('`policy explain --key` for a child key of a user in a team', () => {
  type Made = { readonly id: string; readonly key: string };
  const made = async (path: string, body: object, init = {}) =>
    (await box.post(path, body, init)).json() as Promise<Made>;
  const of = (credits: number) => [{ limit_credits: credits, window: 'month', on_exhausted: 'cap' }];
  const half = (credits: number) => credits / 2;

  test('`policy explain --key` counts the budgets of the team, the user and the parent keys, as the request does', async () => {
    const team = await made('/admin/teams', { name: 'search', budgets: of(30) });
    const user = await made('/admin/users', { name: 'Ada', team: team.id, budgets: of(20) });
    const root = await made('/admin/keys', { team: team.id, scopes: ['chat', 'route', 'delegate'], budgets: of(24) });
    const child = await made('/v1/keys', {}, withKey(root.key));
    for (const [{ key }, credits] of [
      [await made('/admin/keys', { team: team.id }), 30],
      [await made('/admin/keys', { user: user.id }), 20],
      [root, 24],
      [child, 24],
    ] as const) {
      expect((await advised(key)).first_hold_credits).toBe(half(credits));
      expect(await explained(key)).toMatchObject({ first_hold_credits: half(credits), code: 0 });
    }
    // What the team has spent counts for each key of the team.
    answer = { tokens: 65, atOnce: 400, reports: 'last' };
    const other = await made('/admin/keys', { team: team.id });
    await answerOf(await ask(root.key));
    expect(await explained(other.key)).toMatchObject(
      await advised(other.key).then(({ first_hold_credits }) => ({ first_hold_credits })),
    );
    expect((await explained(other.key)).first_hold_credits).toBe(half(30 - 0.3));
  });

  test('`policy explain --key` refuses a model that the key’s team may not use', async () => {
    const team = await made('/admin/teams', { name: 'ads', models: ['another'] });
    const { key } = await made('/admin/keys', { team: team.id });
    expect((await ask(key)).status).toBe(403);
    expect((await explain(key)).err).toContain('team `ads`');
  });
});
