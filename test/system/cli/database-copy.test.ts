import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capOf, type Gate, startGate } from '../../gateway/money/gate.ts';
import { hello, pursePolicy, tokens } from '../../gateway/money/purse.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import { freshDatabase, type TestDatabase } from '../../support/shared-postgres.ts';
import { makeTestKey, startSignalbox } from '../../support/signalbox.ts';

/** These tests copy a database of real requests, one of them in progress, to PostgreSQL and back. */
const folder = (): string => mkdtempSync(join(tmpdir(), 'signalbox-test-'));
const [data, onPostgres, back] = [folder(), folder(), folder()];
const file = join(data, 'signalbox.db');
const returned = join(back, 'signalbox.db');
const own = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
let gate: Gate;
let database: TestDatabase;
let url: string;
let policy: string;
let key: string;
beforeAll(async () => {
  gate = startGate({ usageOf: (request) => tokens(42, capOf(request)) });
  policy = `${pursePolicy(gate.url, 2_000)}budgets:
  - { name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: 20, window: total, on_exhausted: reject }
`;
  const box = await startSignalbox({ policy, env: own });
  try {
    key = await box.makeKey('--name', 'app', '--label', 'team=blue');
    gate.open();
    const ask = (more = {}) =>
      box.post(
        '/v1/chat/completions',
        { model: 'best', messages: hello, max_tokens: 100, ...more },
        { headers: { authorization: `Bearer ${key}` } },
      );
    const id = /^sb_live_([^_]+)_/.exec(key)?.[1] ?? '';
    expect(await box.run('keys', 'grant', id, '50')).toMatchObject({ code: 0 });
    const { decision_id: decision } = (await answerOf(await ask())).platform!;
    expect((await ask()).status).toBe(200);
    expect(await box.run('ledger', 'refund', decision)).toMatchObject({ code: 0 });
    expect((await box.post('/admin/teams', { name: 'Blue' })).status).toBe(200);
    gate.close();
    const waiting = ask();
    await waitFor(async () => (await box.run('ledger', 'status')).out.includes('held by 1 open request.'));
    expect(await box.run('ledger', 'backup', file)).toMatchObject({ code: 0 });
    gate.open();
    await waiting;
  } finally {
    await box.stop();
  }
  database = await freshDatabase();
  url = database.url;
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await gate.stop();
});

/** Returns the output of all commands that report on a database. */
async function told(at: string, env: Readonly<Record<string, string>> = {}) {
  const run = async (...args: string[]) => {
    const { code, out, err } = await runHere([...args, '--data', at], env);
    expect({ args, code, err }).toMatchObject({ code: 0 });
    return out;
  };
  return {
    // Remove the time of the report, which differs.
    usage: (await run('ledger', 'usage', '--json')).replace(/"counted_until": *"[^"]*"/, ''),
    export: await run('ledger', 'export'),
    keys: await run('keys', 'list', '--json'),
    teams: await run('teams', 'list', '--json'),
    trail: await run('trail', 'verify', '--json'),
    decisions: await run('decisions', 'list', '--json'),
  };
}

const copy = (...args: string[]) => runHere(['db', 'copy', ...args, '--data', data]);
const agreed = { code: 0, out: expect.stringContaining('The audits of the copy and of the original agree'), err: '' };

test('after a copy to PostgreSQL and back, commands report the same data and the same open holds', async () => {
  const before = await told(data);
  expect(before.export).toContain('correct');
  expect(await copy(file, url)).toEqual(agreed);
  expect(await told(onPostgres, { DATABASE_URL: url })).toEqual(before);
  expect(await copy(url, returned)).toEqual(agreed);
  expect(await told(back)).toEqual(before);
});

test('a copy needs an empty database, and the command refers to pg_dump for a copy from PostgreSQL to PostgreSQL', async () => {
  expect(await copy(file, url)).toMatchObject({ code: 1, err: expect.stringContaining('already has rows') });
  expect(await copy(url, returned)).toMatchObject({ code: 1, err: expect.stringContaining('exists already') });
  expect(await copy(url, url)).toMatchObject({ code: 1, err: expect.stringContaining('pg_dump') });
});

test('servers continue on the copies and count the same budgets', async () => {
  for (const [at, env] of [
    [onPostgres, { DATABASE_URL: url }],
    [back, {}],
  ] as const) {
    const server = await startSignalbox({ data: at, policy, env: { ...own, ...env } });
    try {
      expect(await copy(at === back ? returned : url, join(back, 'third.db'))).toMatchObject({ code: 1 });
      const answer = await server.post(
        '/v1/chat/completions',
        { model: 'best', messages: hello, max_tokens: 100 },
        { headers: { authorization: `Bearer ${key}` } },
      );
      expect(answer.status).toBe(200);
      // Two requests, of which one was refunded, and this request. If servers share a database, others end the open hold later.
      const spent = at === back ? 2 * 442 + 1 : 2 * 442;
      await waitFor(async () => {
        const { out } = await server.run('ledger', 'status', '--offline', '--json', '--name', 'team');
        const [fund] = (JSON.parse(out) as { funds: { spent_credits: number; held_credits: number }[] }).funds;
        return fund && Math.round(fund.spent_credits * 1_000) >= spent && (at !== back || fund.held_credits === 0);
      });
      expect((await server.run('ledger', 'audit')).out).toContain('nothing wrong');
    } finally {
      await server.stop();
    }
  }
});
