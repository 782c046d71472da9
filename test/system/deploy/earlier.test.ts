import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyFixture, FOLDER_0_1, KEPT, keyOf, previousKeyOf } from '../../fixtures/folder.ts';
import { goesOn, spent } from '../../fixtures/goes-on.ts';
import {
  explanationOf,
  type History,
  HOUR_MS,
  type OpenedFixture,
  openFixture,
  readHistory,
  replaysOf,
} from '../../fixtures/history.ts';
import { answerOf } from '../../support/answers.ts';

/**
 * The present program opens the data and the policy of 0.1, over HTTP and with commands. Money, keys, IDs, decisions and past actions must
 * be as 0.1 reported them. Warnings about the policy and added members may differ. Rows expire by the clock, so each server has its own.
 */
const PATIENCE = 60_000;
const YEARS_MS = 5 * 365 * 86_400_000;
const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

interface Expected extends History {
  /** The candidates of one decision. */
  readonly explained: { readonly id: string; readonly candidates: readonly unknown[] };
}

const expected = JSON.parse(readFileSync(join(FOLDER_0_1, 'expected.json'), 'utf8')) as Expected;
const idOf = (name: string): string => Object.keys(expected.keys).find((id) => expected.keys[id]?.name === name) ?? '';
let opened: OpenedFixture;
const policies = () => join(opened.box.data, 'policies');
const statusOf = async (key: string) => (await opened.box.get('/v1/models', withKey(key))).status;

describe('the data folder of 0.1, opened after an hour', () => {
  beforeAll(async () => {
    opened = await openFixture(copyFixture(), HOUR_MS);
  }, PATIENCE);
  afterAll(() => opened.close());

  test('is served: the policy is active and the holds that the crash left open are closed', async () => {
    const ready = await opened.box.get('/readyz');
    expect([ready.status, await ready.json()]).toMatchObject([200, { status: 'ready' }]);
    const errors = opened.box.lines.filter((line) => line.includes('"level":"error"'));
    // The machine's clock may be earlier than the fixture's times.
    expect(errors.filter((line) => !line.includes('the system clock is behind the ledger'))).toEqual([]);
    expect(existsSync(join(opened.box.data, 'ledger.id'))).toBe(true);
  });

  test(
    'reports the same money, keys, wallets, payments, decisions and outcomes, to the microcredit',
    async () => {
      const { explained, decisions, ...rest } = expected;
      const history = await readHistory(opened);
      expect(history).toMatchObject(rest);
      for (const [id, { replays, ...decision }] of Object.entries(decisions))
        expect(history.decisions[id]).toMatchObject(decision);
      for (const list of ['keys', 'usage', 'decisions'] as const)
        expect(Object.keys(history[list])).toEqual(Object.keys(expected[list]));
    },
    PATIENCE,
  );

  test('decides each decision again with the same result, or says that an earlier version made it', async () => {
    const replays = await replaysOf(opened);
    expect(replays.some(({ matches }) => matches)).toBe(true);
    for (const { matches, reason } of replays.filter((one) => one.matches !== true))
      expect([matches, reason]).toEqual([null, expect.stringContaining('earlier version')]);
  });

  test('shows a decision that 0.1 drew at random or with learned qualities, and says why it cannot be repeated', async () => {
    const drawn = Object.keys(expected.decisions).find((id) =>
      `${expected.decisions[id]?.route_reason}`.endsWith(':explored'),
    )!;
    const learned = Object.keys(expected.decisions).find(
      (id) => expected.decisions[id]?.route_reason === 'auto:weighted',
    )!;
    for (const id of [drawn, learned]) {
      const { choice, route_reason } = expected.decisions[id]!;
      const body: unknown = await (await opened.box.get(`/v1/decisions/${id}`)).json();
      expect(body).toMatchObject({
        ...{ choice, route_reason, explanation: null, candidates: null, learning: null, draw: null },
        replay: { matches: null, reason: expect.stringContaining('learned from answers and tried models at random') },
      });
      const text = await opened.run(['policy', 'explain', '--decision', id, policies()], 0, 2);
      expect(text).toContain('learned from answers and tried models at random');
    }
  });

  test('explains a decision with the candidates that the earlier version reported', async () => {
    const { id, candidates } = expected.explained;
    expect<unknown>(await explanationOf(opened, id)).toEqual(candidates);
  });

  test('accepts the keys that were valid, and no other', async () => {
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

  test('replays a stored answer without a charge, and accepts a score for an old answer', async () => {
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

  test('shows the prompts and answers that the policy stored', async () => {
    const contents = opened.decisions.map((id) => opened.box.get(`/admin/decisions/${id}/content`));
    const found = (await Promise.all(contents)).filter(({ status }) => status === 200);
    const texts = await Promise.all(found.map((answer) => answer.text()));
    expect(texts).toHaveLength(2);
    expect(texts.join()).toContain('Write to [email], please.');
  });

  test(
    'accepts an operator’s commands, and the policy passes its own cases',
    async () => {
      await opened.run(['policy', 'check', policies()]);
      await opened.run(['policy', 'test', policies()]);
      const csv = await opened.run(['ledger', 'export', '--from', '2026-11', '--format', 'csv']);
      expect(csv.trimEnd().split('\n').length).toBeGreaterThan(30);
      for (const status of ['completed', 'failed', 'broken', 'abandoned', undefined]) {
        const id = Object.keys(expected.decisions).find((one) => expected.decisions[one]?.status === status)!;
        expect(await opened.run(['policy', 'explain', '--decision', id, policies()], 0, 2)).toContain(
          `${expected.decisions[id]?.choice}`,
        );
      }
    },
    PATIENCE,
  );

  test('serves a new chat, charges what its answer says, and passes the audit', () => goesOn(opened), PATIENCE);
});

describe('the data folder of 0.1, opened after five years', () => {
  beforeAll(async () => {
    opened = await openFixture(copyFixture(), YEARS_MS);
  }, PATIENCE);
  afterAll(() => opened.close());

  test(
    'has lost the decisions and outcomes past their retention, and no money, key, wallet, payment or trail entry',
    async () => {
      const { box, decisions } = opened;
      const statuses = await Promise.all(decisions.map(async (id) => (await box.get(`/v1/decisions/${id}`)).status));
      expect(new Set(statuses)).toEqual(new Set([404]));
      const { decisions: _, outcomes: __, explained: ___, funds: ____, ...lasting } = expected;
      expect(await readHistory(opened)).toMatchObject(lasting);
      // The old key stayed valid for 30 days after the rotation.
      expect(await statusOf(previousKeyOf(idOf('rotated')))).toBe(401);
    },
    PATIENCE,
  );

  test('serves a new chat, charges what its answer says, and passes the audit', () => goesOn(opened), PATIENCE);
});
