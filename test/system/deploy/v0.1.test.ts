import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXPECTED, KEPT, keyOf, previousKeyOf } from '../../fixtures/v0.1/folder.ts';
import { goesOn, spent } from '../../fixtures/v0.1/goes-on.ts';
import { HOUR_MS, type OpenedFixture, openFixture, readExpected, readHistory } from '../../fixtures/v0.1/history.ts';
import { answerOf } from '../../support/answers.ts';

/**
 * The present program opens the data folder and the policy folder of 0.1, by command and over HTTP. Money, keys, IDs and
 * past actions must be as 0.1 itself reported them in expected.json. These may change: the outcome of deciding an old
 * request again, the model that a new request gets, warnings about the policy, and members that are added to answers.
 *
 * Rows expire by the clock, so each server here has its own: the fixture is as old as the test says, whatever the day.
 */
const PATIENCE = 60_000;
const YEARS_MS = 5 * 365 * 86_400_000;

// `readHistory` of 0.1 wrote it.
const expected = readExpected(EXPECTED);
const idOf = (name: string): string => Object.keys(expected.keys).find((id) => expected.keys[id]?.name === name) ?? '';
const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

let opened: OpenedFixture;
const policies = () => join(opened.box.data, 'policies');
const statusOf = async (key: string) => (await opened.box.get('/v1/models', withKey(key))).status;

describe('the folders of 0.1, opened after an hour', () => {
  beforeAll(async () => {
    opened = await openFixture(HOUR_MS);
  }, PATIENCE);
  afterAll(() => opened.close());

  test('are served: the holds that the crash left open are closed, and the policy is in force', async () => {
    const ready = await opened.box.get('/readyz');
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ status: 'ready', policy: { state: 'in_force' } });
    const told = opened.box.lines.filter((line) => line.includes('closed reservations that an earlier run left open'));
    expect(told).toHaveLength(1);
    expect(opened.box.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    // Which ledger it is was not noted beside the database.
    expect(existsSync(join(opened.box.data, 'ledger.id'))).toBe(true);
  });

  test(
    'report the same money, keys, wallets, payments, decisions and outcomes as 0.1, to the microcredit',
    async () => {
      const history = await readHistory(opened);
      expect(history).toMatchObject({ ...expected });
      for (const list of ['keys', 'usage', 'decisions'] as const) {
        expect(Object.keys(history[list])).toEqual(Object.keys(expected[list]));
      }
    },
    PATIENCE,
  );

  test('accept the keys that were valid, and no other', async () => {
    const keys = ['team', 'prepaid', 'by-admin', 'agent', 'rotated'].map((name) => keyOf(idOf(name)));
    expect(await Promise.all(keys.map(statusOf))).toEqual([200, 200, 200, 200, 200]);
    expect(await statusOf(previousKeyOf(idOf('rotated')))).toBe(200);
    const bad = [
      keyOf(idOf('revoked')),
      keyOf(idOf('short-lived')),
      keyOf('nobody000000'),
      previousKeyOf(idOf('team')),
    ];
    expect(await Promise.all(bad.map(statusOf))).toEqual([401, 401, 401, 401]);
  });

  test('replay a kept answer without a charge, and take a score for an old answer', async () => {
    const before = await spent(opened);
    const again = await opened.box.post('/v1/chat/completions', KEPT.body, {
      headers: { 'idempotency-key': KEPT.name },
    });
    expect([again.status, again.headers.get('x-signalbox-replayed')]).toEqual([200, 'true']);
    expect((await answerOf(again)).choices[0]?.message.content).toBe('This answer is kept.');
    expect(await spent(opened)).toBe(before);
    const old = again.headers.get('x-signalbox-decision-id');
    const scored = await opened.box.post('/v1/feedback', { decision_id: old, score: 1 });
    expect([scored.status, await scored.json()]).toMatchObject([200, { decision_id: old, model: KEPT.body.model }]);
  });

  test('show the prompts and answers that the policy kept', async () => {
    const contents = opened.decisions.map((id) => opened.box.get(`/admin/decisions/${id}/content`));
    const shown = await Promise.all(
      (await Promise.all(contents)).filter(({ status }) => status === 200).map((r) => r.text()),
    );
    expect(shown).toHaveLength(2);
    expect(shown.join()).toContain('Write to [email], please.');
  });

  test(
    'explain an old decision of every end from the policy of its time: the recorded choice stays, a new decision may differ',
    async () => {
      const ends = ['completed', 'failed', 'broken', 'abandoned', undefined];
      const some = ends.map(
        (end) => Object.keys(expected.decisions).find((id) => expected.decisions[id]?.status === end)!,
      );
      for (const id of some) {
        // Code 2: deciding again gives another result.
        const out = await opened.run(['policy', 'explain', '--decision', id, policies()], 0, 2);
        expect(out).toContain(id);
        expect(out).toContain(`${expected.decisions[id]?.choice}`);
        // The policy of that time, its plugin included, can still be built.
        expect(out).not.toContain('cannot be decided again');
      }
    },
    PATIENCE,
  );

  test(
    'work with an operator’s commands, and the policy passes its own cases',
    async () => {
      await opened.run(['policy', 'check', policies()]);
      // A failed case keeps a policy from serving, and every installation has the shipped cases of 0.1.
      await opened.run(['policy', 'test', policies()]);
      const lines = (await opened.run(['ledger', 'export', '--from', '2026-11', '--format', 'csv']))
        .trimEnd()
        .split('\n');
      expect(lines.length).toBeGreaterThan(40);
      expect(await opened.run(['learn', 'export'])).toContain('unit-tests');
      await opened.run(['ledger', 'backup', join(opened.box.data, 'copy.db')]);
    },
    PATIENCE,
  );

  test(
    'take a new chat, which is charged what its answer says, and the audit finds nothing wrong',
    () => goesOn(opened),
    PATIENCE,
  );
});

describe('the folders of 0.1, opened after five years', () => {
  beforeAll(async () => {
    opened = await openFixture(YEARS_MS);
  }, PATIENCE);
  afterAll(() => opened.close());

  test(
    'have lost the decisions and outcomes past their retention, and no money, key, wallet, payment or line of the trail',
    async () => {
      const { box, decisions } = opened;
      expect((await box.get('/readyz')).status).toBe(200);
      const statuses = await Promise.all(decisions.map(async (id) => (await box.get(`/v1/decisions/${id}`)).status));
      expect(new Set(statuses)).toEqual(new Set([404]));
      const { decisions: _, outcomes: __, ...lasting } = expected;
      expect(await readHistory(opened)).toMatchObject(lasting);
      // The overlap of the rotation was 30 days.
      expect(await statusOf(previousKeyOf(idOf('rotated')))).toBe(401);
    },
    PATIENCE,
  );

  test(
    'take a new chat, which is charged what its answer says, and the audit finds nothing wrong',
    () => goesOn(opened),
    PATIENCE,
  );
});
