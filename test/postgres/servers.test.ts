import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { capOf, type Gate, type GateAnswers, startGate } from '../money/gate.ts';
import { hello, pursePolicy, tokens } from '../money/purse.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { type PostgresServers, startServers } from '../support/postgres-servers.ts';
import type { Signalbox } from '../support/signalbox.ts';

/** Two servers at one PostgreSQL, as callers and operators see them. */
const answers: GateAnswers = { usageOf: (request) => tokens(42, capOf(request)) };
let gate: Gate;
let fleet: PostgresServers;
let one: Signalbox;
let other: Signalbox;
beforeAll(async () => {
  gate = startGate(answers);
  gate.open();
  const more = `budgets:
  - { name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: 20, window: day, on_exhausted: reject }
`;
  fleet = await startServers(2, { policy: pursePolicy(gate.url, 2_000) + more, env: UPSTREAM_ENV });
  [one, other] = fleet.servers as [Signalbox, Signalbox];
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await gate.stop();
});

const body = { model: 'best', messages: hello, max_tokens: 100 };
const chat = (at: Signalbox, key: string, headers = {}, more = {}) =>
  at.post('/v1/chat/completions', { ...body, ...more }, { headers: { authorization: `Bearer ${key}`, ...headers } });

async function makeKey(at: Signalbox, terms: object) {
  const made = await at.post('/admin/keys', terms);
  return (await made.json()) as { readonly id: string; readonly key: string };
}

/** Requests at once over both servers. Returns their statuses and the sum that they told, microcredits. */
async function ask(key: string, count: number) {
  const told = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const answer = await chat(i % 2 === 0 ? one : other, key);
      const { platform } = await answerOf(answer);
      return { status: answer.status, micro: Math.round((platform?.credits_consumed ?? 0) * 1e6) };
    }),
  );
  return { statuses: told.map(({ status }) => status), micro: told.reduce((sum, { micro }) => sum + micro, 0) };
}

describe('Two servers at one PostgreSQL', () => {
  test('spend one budget to its end, and not beyond: told = booked, and the audit is clean', async () => {
    const { key, id } = await makeKey(one, { labels: { team: 'blue' } });
    await waitFor(async () => (await chat(other, key)).status === 200);
    const { statuses, micro } = await ask(key, 80);
    expect(new Set(statuses)).toEqual(new Set([200, 402]));
    const usage = await one.run('ledger', 'usage', '--key', id, '--json');
    expect(usage.err).toBe('');
    await waitFor(async () => {
      const { out } = await one.run('ledger', 'status', '--json', '--name', 'team');
      const [fund] = (JSON.parse(out) as { funds: { spent_credits: number; held_credits: number }[] }).funds;
      return fund?.held_credits === 0 && Math.round(fund.spent_credits * 1e6) === micro + 442_000;
    });
    // 45 requests of 0.442 Credits fit into 20.
    expect(micro + 442_000).toBe(45 * 442_000);
    expect((await other.run('ledger', 'audit')).out).toContain('nothing wrong');
  });

  test('have a key of a command in force when it returns, and each of them refuses one that was revoked', async () => {
    const key = await other.makeKey('--label', 'team=red');
    for (const at of [one, other]) expect((await chat(at, key)).status).toBe(200);
    const [, id = ''] = /^sb_live_([^_]+)_/.exec(key) ?? [];
    expect(await one.run('keys', 'revoke', id)).toMatchObject({ code: 0, err: '' });
    for (const at of [one, other]) expect((await chat(at, key)).status).toBe(401);
  });

  test('are both in the list of servers, which run one policy', async () => {
    const { out, code } = await one.run('instances', '--json');
    expect([code, JSON.parse(out)]).toMatchObject([0, { is_split: false, data: [{ slot: 0 }, { slot: 1 }] }]);
    const status = await other.run('db', 'status', '--json');
    expect([status.code, JSON.parse(status.out)]).toMatchObject([0, { is_served: true, is_current: true, version: 1 }]);
    expect(status.out).not.toContain('signalbox@');
  });

  test('that stops gives its place back at once', async () => {
    const third = await fleet.start();
    const slots = async () => {
      const { out } = await one.run('instances', '--json');
      return (JSON.parse(out) as { data: { slot: number }[] }).data.map(({ slot }) => slot);
    };
    expect(await slots()).toEqual([0, 1, 2]);
    await fleet.stop(third);
    expect(await slots()).toEqual([0, 1]);
  });
});
