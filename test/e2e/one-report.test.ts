import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Static } from '@sinclair/typebox';
import fc from 'fast-check';
import type { Traffic } from '../../src/admin/traffic.ts';
import type { AdminUsage } from '../../src/admin/usage.ts';
import { TRAFFIC_KINDS } from '../../src/store/traffic.ts';
import { tries } from '../deep/effort.ts';
import { answerOf } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { audit, chat, hang, makeKey, PATIENCE, start, upstream, useServers } from './ledger-support.ts';

/** All reports have the same figure for spending: usage, traffic, the ledger, the audit. */
useServers();

const micro = (credits: number): number => Math.round(credits * 1e6);
const DAY_MS = 86_400_000;
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

async function read<Body>(box: Signalbox, path: string): Promise<Body> {
  const response = await box.get(path);
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as Body;
}

/** Returns microcredits by group, without groups that spent nothing. */
const spends = (groups: readonly (readonly [string, number])[]) =>
  groups.flatMap(([group, credits]) => (credits === 0 ? [] : [[group, micro(credits)]])).sort();

/** Expects that every report has the same spending up to its mark. @returns the spending in microcredits */
async function spendOf(box: Signalbox): Promise<number> {
  const asked = Date.now();
  const days = `from=${dayOf(asked - DAY_MS)}&to=${dayOf(asked + DAY_MS)}`;
  const { charged_credits } = await read<{ charged_credits: number }>(box, '/admin/ledger');
  for (const by of ['key', 'team', 'user', 'label:env'] as const) {
    const traffic = await read<Static<typeof Traffic>>(box, `/admin/traffic?by=${by}&${days}&step=day&limit=50`);
    const usage = await read<Static<typeof AdminUsage>>(box, `/admin/usage?by=${by}&${days}`);
    for (const { counted_until } of [traffic, usage]) expect(Date.parse(counted_until)).toBeGreaterThanOrEqual(asked);
    const used = usage.groups.map(({ group, credits }) => [group[by] ?? group[`${by}_id`] ?? '', credits] as const);
    const counted = traffic.series.map(({ value, whole }) => [value, whole.credits] as const);
    const rest = traffic.other ? [['', traffic.other.whole.credits] as const] : [];
    expect([by, spends([...counted, ...rest])]).toEqual([by, spends(used)]);
    expect([traffic.total.whole.credits, usage.total_credits].map(micro)).toEqual(
      Array(2).fill(micro(charged_credits)),
    );
  }
  for (const step of ['minute', 'hour', 'month']) {
    for (const by of ['model', 'provider', 'task', 'status']) {
      const { total, series } = await read<Static<typeof Traffic>>(box, `/admin/traffic?by=${by}&step=${step}`);
      const sum = series.reduce((all, { whole }) => all + micro(whole.credits), 0);
      expect([step, by, sum, micro(total.whole.credits)]).toEqual([step, by, ...Array(2).fill(micro(charged_credits))]);
    }
  }
  const audited = await audit(box.data);
  expect([audited.code, audited.body.findings]).toEqual([0, []]);
  expect(micro(audited.body.charged_credits)).toBe(micro(charged_credits));
  return micro(charged_credits);
}

const request = fc.record({ key: fc.nat(2), tokens: fc.integer({ min: 1, max: 90 }), isRefunded: fc.boolean() });
const requests = fc.array(request, { minLength: 1, maxLength: 5 });
const histories = fc.record({ before: requests, hanging: fc.integer({ min: 0, max: 2 }), after: requests });

const LAW = 'usage, traffic, the ledger and the audit state the same spend to the microcredit, also after kill -9';
test(
  LAW,
  async () => {
    const law = fc.asyncProperty(histories, async ({ before, hanging, after }) => {
      const box = await start({ isProcess: true });
      const keys = [box.key];
      keys.push((await makeKey(box, '--label', 'env=live')).key, (await makeKey(box, '--label', 'env=test')).key);
      const serve = async (on: Signalbox, { key, tokens, isRefunded }: (typeof before)[number]) => {
        upstream.behave({ usage: { prompt_tokens: 7, completion_tokens: tokens, total_tokens: 7 + tokens } });
        const { decision_id } = (await answerOf(await chat(on, keys[key]))).platform;
        if (isRefunded) expect(await on.run('ledger', 'refund', decision_id, '0.0051')).toMatchObject({ code: 0 });
      };
      for (const one of before) await serve(box, one);
      const spent = await spendOf(box);
      const release = await hang(box, hanging);
      box.signal('SIGKILL');
      await box.exited;
      release();
      const next = await start({ data: box.data, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: box.key } });
      const charged = await spendOf(next);
      expect(charged > spent).toBe(hanging > 0);
      for (const one of after) await serve(next, one);
      expect(await spendOf(next)).toBeGreaterThan(charged);
    });
    await fc.assert(law, tries(LAW, 1, 20));
  },
  10 * PATIENCE,
);

test(
  'the audit finds each traffic cell that was changed by hand, and none after traffic is counted again',
  async () => {
    const box = await start();
    const { key } = await makeKey(box, '--label', 'env=live');
    for (const one of [box.key, key]) await answerOf(await chat(box, one));
    await spendOf(box);
    await box.stop();
    const change = (statement: string) => {
      const db = new Database(join(box.data, 'signalbox.db'), { readwrite: true });
      expect(db.run(statement).changes).toBeGreaterThan(0);
      db.close();
    };
    const kindsOf = async () => (await audit(box.data)).body.findings.map(({ kind }) => kind);
    const sound = async () => expect(await kindsOf()).toEqual([]);
    for (const width of [1, 60, 1_440]) {
      for (const [kind] of TRAFFIC_KINDS.entries()) {
        const cells = `traffic SET microcredits = microcredits`;
        const some = `WHERE width = ${width} AND kind = ${kind}`;
        change(`UPDATE ${cells} + 1 ${some}`);
        expect([width, kind, new Set(await kindsOf())]).toEqual([width, kind, new Set(['wrong_traffic'])]);
        change(`UPDATE ${cells} - 1 ${some}`);
      }
    }
    await sound();
    // Two keys whose cells are exchanged still have the same sum.
    const keyCells = `traffic SET microcredits = microcredits + CASE series WHEN 1 THEN 1 ELSE -1 END WHERE kind = 3`;
    change(`UPDATE ${keyCells} AND series IN (1, 2)`);
    expect(new Set(await kindsOf())).toEqual(new Set(['wrong_traffic']));
    change('DELETE FROM traffic WHERE width = 1440 AND kind = 0');
    const { code, out } = await runHere(['ledger', 'audit', '--data', box.data]);
    expect([code, out]).toEqual([2, expect.stringContaining('wrong_traffic: traffic by total of the day 20')]);
    expect(await runHere(['traffic', 'rebuild', '--data', box.data])).toMatchObject({ code: 0 });
    await sound();
  },
  PATIENCE,
);

test(
  'a server whose clock is ahead deletes old minutes without a finding; the audit of a backup finds hours deleted by hand',
  async () => {
    const box = await start();
    await answerOf(await chat(box));
    await spendOf(box);
    await box.stop();
    const ahead = await start({ data: box.data, now: () => Date.now() + 3 * DAY_MS });
    await ahead.stop();
    const cellsOf = (width: number) => {
      using db = new Database(join(box.data, 'signalbox.db'), { readonly: true });
      return db.query('SELECT 1 FROM traffic WHERE width = ?').all(width).length;
    };
    expect([cellsOf(1), cellsOf(60) > 0]).toEqual([0, true]);
    expect((await audit(box.data)).body.findings).toEqual([]);
    const backUp = (name: string) => runHere(['ledger', 'backup', join(box.data, name), '--data', box.data]);
    expect(await backUp('sound.db')).toMatchObject({ code: 0 });
    using db = new Database(join(box.data, 'signalbox.db'), { readwrite: true });
    db.run('DELETE FROM traffic WHERE width = 60');
    expect(await backUp('wrong.db')).toMatchObject({ code: 2, out: expect.stringContaining('finding') });
  },
  PATIENCE,
);
