import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { closedBooks } from '../gateway/money/books.ts';
import type { MadeKey } from '../gateway/money/keys.ts';
import { hello, type Purse, startPurse } from '../gateway/money/purse.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';

/**
 * The effects of a session's name: spending is reported by session, and a policy can limit each session, but no name can evade a budget.
 */
const BUDGETS = [
  `name: run, each: session, limit_credits: 1, window: day`,
  `name: own, each: key, match: 'key.labels.kind == "bounded"', limit_credits: 2, window: day`,
] as const;
let purse: Purse;

beforeAll(async () => {
  purse = await startPurse(100, ...BUDGETS);
});
afterAll(() => purse.stop());

const ask = (key: MadeKey, session: string, body: object = {}) =>
  purse.chat(key, { model: 'best', metadata: { session_id: session }, ...body });

const usageBy = async ({ key }: MadeKey, by: string) => {
  const answer = await purse.live.box.get(`/v1/usage?by=${by}`, { headers: { authorization: `Bearer ${key}` } });
  const { groups } = (await answer.json()) as { groups: { group: Record<string, string>; credits: number }[] };
  return Object.fromEntries(groups.map(({ group, credits }) => [Object.values(group).join('/'), credits]));
};

describe('a session', () => {
  test('a session is named by the headers of Claude Code and Codex, by `metadata.session_id` or by `prompt_cache_key`', async () => {
    const key = await purse.key({ kind: 'named' });
    const ways: [headers: Record<string, string>, body: object][] = [
      [{ 'x-claude-code-session-id': 's1' }, {}],
      [{ 'session-id': 's2' }, {}],
      [{ session_id: 's3' }, {}],
      [{}, { metadata: { session_id: 's4' } }],
      [{}, { prompt_cache_key: 's5' }],
      // The header takes precedence, and `user` names no session.
      [{ 'x-claude-code-session-id': 's6' }, { metadata: { session_id: 'x' }, prompt_cache_key: 'y' }],
      [{}, { user: 'u' }],
    ];
    for (const [headers, body] of ways) {
      const answer = await fetch(`${purse.live.box.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key.key}`, ...headers },
        body: JSON.stringify({ model: 'best', messages: hello, max_tokens: 100, ...body }),
      });
      expect(answer.status).toBe(200);
    }
    const each = 0.442;
    expect(await usageBy(key, 'session')).toEqual({
      '': each,
      s1: each,
      s2: each,
      s3: each,
      s4: each,
      s5: each,
      s6: each,
    });
  });

  test('a session is the same on the paths of all dialects', async () => {
    const key = await purse.key({ kind: 'dialects' });
    const bodies = {
      '/v1/chat/completions': { messages: hello, max_tokens: 100 },
      '/v1/messages': { messages: hello, max_tokens: 100 },
      '/v1/responses': { input: hello, max_output_tokens: 100 },
    };
    const send = (path: string, body: object) =>
      fetch(purse.live.box.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key.key, 'session-id': 'run-7' },
        body: JSON.stringify({ model: 'best', ...body }),
      });
    const statuses: number[] = [];
    for (const [path, body] of Object.entries(bodies)) statuses.push((await send(path, body)).status);
    // The first two requests have spent the whole limit of the session.
    expect(statuses).toEqual([200, 200, 402]);
    expect(await usageBy(key, 'session')).toEqual({ 'run-7': 0.884 });
  });

  test('a decision, the list of decisions and the export of the ledger show the session', async () => {
    const key = await purse.key({ kind: 'listed' });
    const { platform } = await answerOf(await ask(key, 'listed-1'));
    const { box } = purse.live;
    const list = async (session: string) =>
      (
        (await (await box.get(`/admin/decisions?session=${session}`)).json()) as {
          data: { id: string; session: string }[];
        }
      ).data;
    expect(await list('listed-1')).toMatchObject([{ id: platform.decision_id, session: 'listed-1' }]);
    expect(await list('listed-2')).toEqual([]);
    const decision = (await (await box.get(`/v1/decisions/${platform.decision_id}`)).json()) as { session: string };
    expect(decision.session).toBe('listed-1');
    const { out } = await box.run('ledger', 'export', '--key', key.id, '--by', 'session', '--format', 'json');
    expect(out).toContain('"session":"listed-1"');
  });

  test('a session that has spent its limit is refused; other sessions, and requests without one, are served', async () => {
    const key = await purse.key({ kind: 'capped' });
    for (const _ of [1, 2]) expect((await ask(key, 'wild')).status).toBe(200);
    const { details } = await expectError(await ask(key, 'wild'), 'insufficient_quota');
    expect(details).toMatchObject({ budget: 'run', subject: `${key.id}/wild`, spent_credits: 0.884 });
    expect((await ask(key, 'tame')).status).toBe(200);
    for (const _ of [1, 2, 3]) expect((await purse.chat(key, { model: 'best' })).status).toBe(200);
  });

  test('a session has its own windows of a budget and its name in log lines', async () => {
    const key = await purse.key({ kind: 'shown' });
    const { platform } = await answerOf(await ask(key, 'shown-1'));
    await ask(key, 'shown-2');
    await ask(await purse.key({ kind: 'neighbour' }), 'shown-3');
    const answer = await purse.live.box.get('/v1/usage', { headers: { authorization: `Bearer ${key.key}` } });
    const { funds } = (await answer.json()) as { funds: { name: string; subject: string; spent_credits: number }[] };
    const ofRuns = funds.filter(({ name }) => name === 'run');
    expect(ofRuns.map(({ subject, spent_credits: spent }) => [subject, spent]).sort()).toEqual([
      [`${key.id}/shown-1`, 0.442],
      [`${key.id}/shown-2`, 0.442],
    ]);
    const line = await waitFor(
      () => purse.live.box.lines.find((one) => one.includes(platform.decision_id)) ?? null,
      5_000,
    );
    expect(JSON.parse(line)).toMatchObject({ session: 'shown-1' });
  });

  test('sessions with the same name of two keys are separate', async () => {
    const [one, two] = [await purse.key({ kind: 'one' }), await purse.key({ kind: 'two' })];
    for (const _ of [1, 2]) await ask(one, 'shared');
    await expectError(await ask(one, 'shared'), 'insufficient_quota');
    expect((await ask(two, 'shared')).status).toBe(200);
  });

  test('when a budget is counted again, a session has spent what its entries say', async () => {
    const key = await purse.key({ kind: 'recounted' });
    for (const _ of [1, 2]) await ask(key, 'long');
    await purse.budgets(BUDGETS[0].replace('name: run', 'name: session-run'), BUDGETS[1]);
    await expectError(await ask(key, 'long'), 'insufficient_quota');
    expect((await ask(key, 'short')).status).toBe(200);
    await purse.budgets(...BUDGETS);
  });

  test('a key never spends more than its budget by using many session names', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[a-c]{0,2}$/), { minLength: 8, maxLength: 16 }), async (names) => {
        const key = await purse.key({ kind: 'bounded' });
        const answers = await Promise.all(names.map((name) => ask(key, name === '' ? 'wïld' : name)));
        for (const answer of answers) {
          // On a slow machine, the money may still be held by requests in progress when the wait ends.
          if (answer.status === 429) await expectError(answer, 'budget_contended');
          else if (answer.status !== 200) await expectError(answer, 'insufficient_quota');
          else await answer.text();
        }
        const spent = Object.values(await usageBy(key, 'session'));
        expect(spent.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(2);
        for (const one of spent) expect(one).toBeLessThanOrEqual(1);
      }),
      { numRuns: 5 },
    );
    await closedBooks(purse.live.box.data);
  });
});

describe('an agent within a session', () => {
  const send = (key: MadeKey, names: Readonly<Record<string, string>>) =>
    purse.live.box.post(
      '/v1/messages',
      { model: 'best', messages: hello, max_tokens: 100 },
      { headers: { authorization: `Bearer ${key.key}`, ...names } },
    );
  const named = (session: string, agent?: string, parent?: string) => ({
    'x-claude-code-session-id': session,
    ...(agent && { 'x-claude-code-agent-id': agent }),
    ...(parent && { 'x-claude-code-parent-agent-id': parent }),
  });

  test('the spending of an agent is reported separately, within the limit of its session, also by commands', async () => {
    const key = await purse.key({ kind: 'agents' });
    const statuses: number[] = [];
    for (const agent of [undefined, 'explore', 'explore'])
      statuses.push((await send(key, named('run-1', agent))).status);
    // The session has spent its limit, through whichever of its agents.
    expect(statuses).toEqual([200, 200, 402]);
    await send(key, named('run-2', 'explore'));
    expect(await usageBy(key, 'agent')).toEqual({ '': 0.442, explore: 0.884 });
    expect(await usageBy(key, 'session,agent')).toEqual({
      'run-1/': 0.442,
      'run-1/explore': 0.442,
      'run-2/explore': 0.442,
    });
    const { out } = await purse.live.box.run('ledger', 'usage', '--key', key.id, '--by', 'agent', '--json');
    expect(JSON.parse(out).groups).toMatchObject([
      { group: { agent: '' } },
      { group: { agent: 'explore' }, credits: 0.884 },
    ]);
  });

  test('a decision shows the agent and the agent that started it; neither is sent to a provider', async () => {
    const key = await purse.key({ kind: 'started' });
    const answer = await send(key, named('run-3', 'inner', 'outer'));
    const decision = await purse.live.box.get(`/v1/decisions/${answer.headers.get('x-signalbox-decision-id')}`);
    expect(await decision.json()).toMatchObject({ session: 'run-3', agent: 'inner', parent_agent: 'outer' });
    expect(await (await send(key, { 'x-claude-code-agent-id': 'ada@example.com' })).json()).toBeDefined();
    expect(Object.keys(await usageBy(key, 'agent')).sort()).toEqual([
      expect.stringMatching(/^hash_[0-9a-f]{24}$/),
      'inner',
    ]);
  });
});
