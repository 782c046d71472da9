import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
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
      `14.85 Credits of the caller’s money are held. The output is capped at ${cap} tokens: the monthly budget of the key cannot pay for more.`,
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
      `${(34 + 4 * 15_360) / 1_000} Credits of the caller’s money are held. The output is capped at 15360 tokens: the model cannot return more.`,
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
    expect((await explain(key)).out).not.toContain('of the caller’s money');
  });
});

test('`policy explain --key` says with which error a key without enough money is refused, and uses the key’s labels', async () => {
  const key = await box.makeKey('--label', 'purse=reject');
  expect((await ask(key)).status).toBe(402);
  expect(await explained(key)).toMatchObject({ first_hold_credits: null, shortage: 'request_exceeds_budget', code: 2 });
  expect((await explain(key)).out).toContain(
    'The request is refused with 402 request_exceeds_budget: The budget `strict`',
  );
  expect((await explain(key)).out).toMatch(/The limit is [\d.,]+ Credits? \([\d.]+ USD\)/);
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

describe('`policy explain --team` and `--user`', () => {
  type Made = { readonly id: string; readonly key: string };
  const made = async (path: string, body: object) => (await box.post(path, body)).json() as Promise<Made>;
  const of = (credits: number) => [{ limit_credits: credits, window: 'month', on_exhausted: 'cap' }];
  const asked = (where: string, ...flags: string[]) =>
    runHere(['policy', 'explain', where, '--model', 'm', '--message', 'hi', ...flags], UPSTREAM_ENV);
  const askedHere = (...flags: string[]) => asked(folder, '--data', box.data, ...flags);
  const holdOf = async (...flags: string[]) => {
    const { out } = await askedHere(...flags, '--json');
    return (JSON.parse(out) as { first_hold_credits: number | null }).first_hold_credits;
  };

  test('use the terms and the money of the team and the user, as a key of theirs and as the server does', async () => {
    const team = await made('/admin/teams', { name: 'sales', budgets: of(26) });
    const user = await made('/admin/users', { name: 'Eve', team: team.id, budgets: of(18) });
    const ofTeam = await made('/admin/keys', { team: team.id });
    const ofUser = await made('/admin/keys', { user: user.id });
    for (const [flags, { key }, credits] of [
      [['--team', 'sales'], ofTeam, 13],
      [['--team', team.id], ofTeam, 13],
      [['--user', user.id], ofUser, 9],
    ] as const) {
      expect((await advised(key)).first_hold_credits).toBe(credits);
      expect(await holdOf(...flags)).toBe(credits);
      const served = await runHere(
        ['policy', 'explain', '--url', box.url, '--model', 'm', '--message', 'hi', '--json', ...flags],
        { SIGNALBOX_KEY: box.key },
      );
      expect(JSON.parse(served.out)).toMatchObject({ first_hold_credits: credits });
    }
  });

  test('say that no team has the ID or the name', async () => {
    const { code, err } = await askedHere('--team', 'desing');
    expect([code, err]).toEqual([1, expect.stringContaining('no team with this ID or name')]);
  });

  test('refuse a model that the list of the team excludes, and name the team', async () => {
    await made('/admin/teams', { name: 'design', models: ['another'] });
    expect((await askedHere('--team', 'design')).err).toContain('The team `design` may not use the model `m`.');
    const { out, code } = await runHere(
      ['policy', 'explain', folder, '--message', 'hi', '--data', box.data, '--team', 'design'],
      UPSTREAM_ENV,
    );
    expect([code, out]).toEqual([2, expect.stringContaining('the team `design` may not use it')]);
  });

  test('accept a team that only the policy declares, with or without a database', async () => {
    const declared = writePolicy(
      (await Bun.file(join(folder, 'policy.yaml')).text()).replace(
        'budgets:\n',
        'teams: [{ name: new-team, models: [m], budgets: [{ limit_credits: 4, window: month }] }]\nbudgets:\n  - { name: of-new, match: \'team.name == "new-team"\', limit_credits: 2, window: total, on_exhausted: reject }\n',
      ),
    );
    for (const data of [box.data, join(declared, 'nowhere')]) {
      const { out, code } = await asked(declared, '--team', 'new-team', '--data', data);
      expect([code, out]).toEqual([
        2,
        expect.stringContaining('is refused with 402 request_exceeds_budget: The budget `of-new`'),
      ]);
    }
    rmSync(declared, { recursive: true, force: true });
  });

  test('refuse an unknown sender and two senders', async () => {
    expect((await askedHere('--team', 'nobody')).err).toContain('There is no team with this ID');
    expect((await askedHere('--user', 'user_0')).err).toContain('There is no user with this ID');
    expect((await askedHere('--team', 'sales', '--user', 'user_0')).err).toContain(
      'Name only one of --key, --team and --user.',
    );
  });
});

test('a failing case does not stop `policy explain`, and `policy check` shows warnings together with it', async () => {
  const text = await Bun.file(join(folder, 'policy.yaml')).text();
  const failing = writePolicy(
    `${text.replace(/base_url: "[^"]*"/, 'base_url: "http://127.0.0.1:9"')}
cases: [{ name: wrong, given: { model: m }, expect: { task: coding } }]
`,
  );
  const { code, out } = await runHere(['policy', 'explain', failing, '--model', 'm', '--message', 'hi'], UPSTREAM_ENV);
  expect([code, out]).toEqual([0, expect.stringContaining('m was requested by name')]);
  const checked = await runHere(['policy', 'check', failing], UPSTREAM_ENV);
  expect([checked.code, checked.out]).toEqual([2, expect.stringContaining('case-failed')]);
  expect(checked.out).toContain('warning address-without-path');
  expect(checked.out).not.toContain('not shown');
  rmSync(failing, { recursive: true, force: true });
});
