import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { latestOf } from '../../../src/store/postgres/migrate.ts';
import { SCHEMA } from '../../../src/store/postgres/schema/versions.ts';
import { quietFor, waitFor } from '../../support/answers.ts';
import { startServers } from '../../support/postgres-servers.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, temporaryFolder } from '../../support/signalbox.ts';
import { ask, audit, booked, COST, chat, makeKey, type Stage, startStage } from './stage.ts';

/** Two servers that share one PostgreSQL database, as callers and operators see them. */
let stage: Stage;
let one: Signalbox;
let other: Signalbox;
beforeAll(async () => {
  stage = await startStage(2);
  [one, other] = stage.fleet.servers as [Signalbox, Signalbox];
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Returns the spent Credits of a team's budget, as a server reports them. */
async function spentAt(at: Signalbox, team: string): Promise<number | undefined> {
  const { funds } = (await (await at.get('/admin/ledger')).json()) as {
    funds: readonly { subject: string; spent_credits: number }[];
  };
  return funds.find(({ subject }) => subject === team)?.spent_credits;
}

test('a server whose database is an older copy says so and grants no holds; ledger audit names the lost entries, and a start is refused', async () => {
  const timers = { ...processTimers, every: (ms: number, run: () => void) => processTimers.every(ms / 20, run) };
  await using fleet = await startServers(1, { timers });
  const [server] = fleet.servers as [Signalbox];
  const run = (text: string) => fleet.database.run(text, fleet.url.split('/').at(-1));
  const said = { model: 'auto', messages: [{ role: 'user', content: 'Hi.' }] };
  const status = async () => (await server.post('/v1/chat/completions', said)).status;
  expect(await status()).toBe(200);
  const noted = () => (JSON.parse(readFileSync(join(server.data, 'ledger.id'), 'utf8')) as { entry: number }).entry;
  await waitFor(() => noted() > 1);
  const entry = noted();
  const kept = readFileSync(join(server.data, 'ledger.id'), 'utf8');
  // A standby that took over lacks this entry.
  await run(`DELETE FROM journal WHERE seq = ${entry}`);
  await quietFor(300, 'a note of less', () => noted() !== entry);
  const words = new RegExp(
    `ends at entry \\d+ of its journal, but entry ${entry} was already written: a standby that took over, or a restored backup, lacks the later entries\\.`,
  );
  expect(await server.run('ledger', 'audit')).toMatchObject({ code: 2, err: expect.stringMatching(words) });
  await waitFor(async () => {
    await run('UPDATE instances SET ids_through = ids_through - 50000000');
    return server.lines.some((line) =>
      /"this server may no longer write to the database.*the database is an older copy/.test(line),
    );
  });
  expect(await status()).toBe(503);
  await fleet.stop(server);
  const data = temporaryFolder();
  writeFileSync(join(data, 'ledger.id'), kept);
  await expect(fleet.start({ data })).rejects.toThrow(words);
  rmSync(data, { recursive: true });
});

describe('Two servers that share one PostgreSQL database', () => {
  test('spend one budget completely and no more: reported prices are booked, and the audit is clean', async () => {
    const made = await makeKey(stage, 'blue');
    await waitFor(async () => (await chat(other, made)).status === 200);
    const told = await Promise.all(Array.from({ length: 80 }, (_, i) => ask(i % 2 === 0 ? one : other, made)));
    expect(new Set(told.map(({ status }) => status))).toEqual(new Set([200, 402]));
    const usage = await one.run('ledger', 'usage', '--key', made.id, '--json');
    expect(usage.err).toBe('');
    // The sum includes the first price. 45 requests of 0.442 Credits fit into 20.
    const sum = told.reduce((all, { micro }) => all + micro, COST);
    expect(await booked(one, 'blue')).toBe(sum);
    expect(sum).toBe(45 * COST);
    expect(await audit(other)).toBe('nothing wrong');
  });

  test('answer commands in a shell that does not know their database', async () => {
    const command = (...words: string[]) => runHere([...words, '--data', one.data]);
    const audited = await command('ledger', 'audit');
    expect([audited.code, audited.err]).toEqual([0, '']);
    expect((await command('instances', '--json')).out).toContain('"is_split": false');
  });

  test('accept a new key when its command returns, and both refuse a revoked key', async () => {
    const key = await other.makeKey('--label', 'team=red');
    const [, id = ''] = /^sb_live_([^_]+)_/.exec(key) ?? [];
    for (const at of [one, other]) expect((await chat(at, { id, key })).status).toBe(200);
    expect(await one.run('keys', 'revoke', id)).toMatchObject({ code: 0, err: '' });
    for (const at of [one, other]) expect((await chat(at, { id, key })).status).toBe(401);
  });

  test('report the same figures of a budget that only one has used, as does a server that starts later', async () => {
    const made = await makeKey(stage, 'lone');
    const { micro } = await ask(other, made);
    const third = await stage.fleet.start();
    for (const at of [one, other, third]) {
      await waitFor(async () => (await spentAt(at, 'lone')) === micro / 1e6);
      await waitFor(async () =>
        /^signalbox_budget_subjects{budget="team"} [2-9]/m.test(await (await at.get('/metrics')).text()),
      );
    }
    await stage.fleet.stop(third);
  });

  test('log only once that a budget has reached a threshold, whichever server used it', async () => {
    const made = await makeKey(stage, 'half');
    const told = () =>
      stage.fleet.servers.flatMap(({ lines }) =>
        lines.filter((line) => line.includes('reached an alert threshold') && line.includes('"half"')),
      );
    for (let asked = 0; asked < 23; asked++) await ask(other, made);
    await waitFor(() => told().length > 0);
    await Promise.all([one, other, one, other].map((at) => ask(at, made)));
    for (const at of [one, other]) await waitFor(async () => (await spentAt(at, 'half')) === (27 * COST) / 1e6);
    expect(told()).toHaveLength(1);
  });

  test('are both in the list of servers and run one policy', async () => {
    const { out, code } = await one.run('instances', '--json');
    expect([code, JSON.parse(out)]).toMatchObject([0, { is_split: false, data: [{ slot: 0 }, { slot: 1 }] }]);
    const status = await other.run('db', 'status', '--json');
    expect([status.code, JSON.parse(status.out)]).toMatchObject([
      0,
      { is_served: true, is_current: true, version: latestOf(SCHEMA) },
    ]);
    expect(status.out).not.toContain('signalbox@');
  });

  test('a stopping server reports for a moment that it is not ready, so that a balancer finds another, unless its drain is shorter or Ctrl-C stops it', async () => {
    const answers: (number | null)[] = [];
    const stops = [
      ['SIGTERM', '25000'],
      ['SIGTERM', '2000'],
      ['SIGINT', '25000'],
    ] as const;
    for (const [signal, drain] of stops) {
      const third = await stage.fleet.start({ args: ['--drain-ms', drain] });
      third.signal(signal);
      answers.push(
        await third.get('/readyz', { headers: { connection: 'close' } }).then(
          ({ status }) => status,
          () => null,
        ),
      );
      await stage.fleet.stop(third);
    }
    expect(answers).toEqual([503, null, null]);
  });

  test('a stopping server frees its slot at once, even if a second signal ends it', async () => {
    const slots = async () => {
      const { out } = await one.run('instances', '--json');
      return (JSON.parse(out) as { data: { slot: number }[] }).data.map(({ slot }) => slot);
    };
    for (const [signals, code] of [
      [1, 0],
      [2, 1],
    ] as const) {
      const third = await stage.fleet.start();
      expect(await slots()).toEqual([0, 1, 2]);
      for (let sent = 0; sent < signals; sent++) third.signal('SIGTERM');
      expect(await third.exited).toBe(code);
      await stage.fleet.stop(third);
      expect(await slots()).toEqual([0, 1]);
    }
  });
});
