import { beforeEach, describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import type { DecisionRecord } from '../../src/core/decision/record.ts';
import { idAt, idText } from '../../src/core/id.ts';
import type { Caller } from '../../src/core/people/caller.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { openaiChat } from '../../src/dialects/openai-chat/surface.ts';
import type { AnswerScore, ScoreReceipt } from '../../src/gateway/records/scores.ts';
import type { FeedbackGateway } from '../../src/gateway/request/feedback.ts';
import { feedbackRoutes } from '../../src/http/feedback.ts';
import { errorResponse, publicError } from '../../src/http/kit/errors.ts';
import { StoreError } from '../../src/store/store.ts';
import { facts as factsOf, model, snapshot } from '../routing/build.ts';
import { expectError } from '../support/error-contract.ts';

/** Tests the route alone, with a store of scores that answers as the test decides. */
const DAY_MS = 86_400_000;
const ID = idAt(Date.UTC(2026, 10, 20));
const DECISION = idText('dec_', ID);

let now: number;
let keyId: string;
let record: Partial<DecisionRecord>;
let answer: (one: AnswerScore) => ScoreReceipt;
let scored: AnswerScore[];
let past: string | { readonly snapshot: PolicySnapshot };

beforeEach(() => {
  now = Date.UTC(2026, 10, 21);
  keyId = 'mine';
  record = { id: ID, keyId: 'mine', kind: 'route', choice: 'best', outcome: null, ...facts('coding') };
  answer = ({ score, label }) => ({ isFirst: true, score, label });
  scored = [];
  past = 'It cannot be built.';
});

const MODELS = [model('best', { q: 0.9 }), model('other', { q: 0.5 })];
const facts = (task: string) => ({ facts: factsOf({ task }) });
const outcome = (status: string, ...models: string[]) =>
  ({ status, attempts: models.map((model) => ({ model })) }) as unknown as DecisionRecord['outcome'];

const gateway = {
  lease: () => ({ snapshot: { ...snapshot(MODELS), records: { days: 7 } } }),
  now: () => now,
  records: {
    find: async (id: number) => (id === ID ? record : null),
    findRevision: async (revision: string) => ({ revision, models: ['old', 'best'] }),
  },
  past: { find: async () => past },
  conversations: { lowScore: () => null },
  scores: {
    add: async (one: AnswerScore) => {
      scored.push(one);
      return answer(one);
    },
  },
} as unknown as FeedbackGateway;
/** An admin, whose role must make no difference here. */
const callerOf = () => ({ keyId, scopes: new Set(['admin', 'chat', 'route']) }) as unknown as Caller;

const defects: unknown[] = [];
const app = new Elysia({ normalize: false })
  .onRequest(({ set }) => {
    set.headers['x-request-id'] = 'req_test';
  })
  .onError({ as: 'global' }, ({ error }) =>
    errorResponse(
      publicError(error, (defect) => defects.push(defect)),
      openaiChat,
      { 'x-request-id': 'req_test' },
    ),
  )
  .use(feedbackRoutes({ gateway, callerOf }));

const give = (body: unknown) =>
  app.handle(
    new Request('http://localhost/v1/feedback', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }),
  );
const told = async (body: object) => {
  const response = await give(body);
  expect(response.status).toBe(200);
  return response.json();
};

describe('a score', () => {
  test('is stored for the model that was recommended', async () => {
    expect(await told({ decision_id: DECISION, score: 0.25 })).toEqual({
      object: 'feedback',
      decision_id: DECISION,
      model: 'best',
      task: 'coding',
      score: 0.25,
      label: null,
      result: 'learnt',
      weight: 1,
    });
    const of = { decision: ID, keyId: 'mine', model: 'best', task: 'coding', declared: 0.9 };
    expect(scored).toEqual([{ ...of, score: 0.25, label: null }]);
  });

  test('is stored for the model that answered, even if that was not the first choice', async () => {
    record = { ...record, kind: 'chat', outcome: outcome('completed', 'best', 'other') };
    expect(await told({ decision_id: DECISION, score: 1, label: 'ci:unit_tests-2.1' })).toMatchObject({
      model: 'other',
      label: 'ci:unit_tests-2.1',
      result: 'learnt',
    });
    expect(scored[0]).toMatchObject({ label: 'ci:unit_tests-2.1', declared: 0.5 });
  });

  test('uses the policy of the decision if the active policy no longer has the model', async () => {
    record = { ...record, choice: 'old' };
    past = { snapshot: snapshot([model('old', { q: 0.6 })]) };
    await told({ decision_id: DECISION, score: 1 });
    expect(scored.map(({ declared }) => declared)).toEqual([0.6]);
  });

  test('that repeats an earlier score is answered with the label of the first score', async () => {
    answer = ({ score }) => ({ isFirst: false, score, label: 'first' });
    expect(await told({ decision_id: DECISION, score: 1, label: 'second' })).toMatchObject({
      result: 'repeated',
      label: 'first',
      weight: 1,
    });
  });

  test('is accepted as long as the record of the decision is kept', async () => {
    now = Date.UTC(2026, 10, 20) + 7 * DAY_MS;
    await told({ decision_id: DECISION, score: 1 });
    now++;
    const { details } = (await expectError(
      await give({ decision_id: DECISION, score: 1 }),
      'feedback_window_over',
      'decision_id',
    )) as { details?: object };
    expect(details).toEqual({ window_days: 7 });
  });
});

describe('POST /v1/feedback refuses', () => {
  const good = { decision_id: DECISION, score: 1 };
  const BODIES: readonly (readonly [
    what: string,
    body: unknown,
    code: Parameters<typeof expectError>[1],
    param: string | null,
  ])[] = [
    ['a body that is not an object', [], 'invalid_type', null],
    ['no decision', { score: 1 }, 'missing_field', 'decision_id'],
    ['no score', { decision_id: DECISION }, 'missing_field', 'score'],
    ['a score in words', { ...good, score: 'good' }, 'invalid_type', 'score'],
    ['a score of truth', { ...good, score: true }, 'invalid_type', 'score'],
    ['a score above 1', { ...good, score: 5 }, 'out_of_range', 'score'],
    ['a score below 0', { ...good, score: -0.01 }, 'out_of_range', 'score'],
    [
      'the ID of a completion',
      { ...good, decision_id: DECISION.replace('dec_', 'chatcmpl-') },
      'invalid_value',
      'decision_id',
    ],
    ['prose for a label', { ...good, label: 'it was quite good' }, 'invalid_value', 'label'],
    ['a long label', { ...good, label: 'a'.repeat(65) }, 'invalid_value', 'label'],
    ['an empty label', { ...good, label: '' }, 'invalid_value', 'label'],
    ['a label of two lines', { ...good, label: 'a\n' }, 'invalid_value', 'label'],
    ['a key for a label', { ...good, label: 'sk-proj-abcdefghijklmnop' }, 'invalid_value', 'label'],
    ['a comment', { ...good, comment: 'good' }, 'unknown_field', 'comment'],
  ];
  for (const [what, body, code, param] of BODIES) {
    test(what, async () => {
      const { message } = await expectError(await give(body), code, param);
      expect(message).not.toContain('abcdefghijklmnop');
      expect(scored).toEqual([]);
    });
  }

  test('a decision that does not exist, and a decision of another key, with the same error', async () => {
    const unknown = await expectError(
      await give({ ...good, decision_id: 'dec_00000000000' }),
      'not_found',
      'decision_id',
    );
    keyId = 'other';
    expect(await expectError(await give(good), 'not_found', 'decision_id')).toEqual(unknown);
    expect(scored).toEqual([]);
  });

  test('a decision without a quality: of embeddings, and of a model that the policy does not declare', async () => {
    record = { ...record, facts: factsOf({ operation: 'embed' }) };
    await expectError(await give(good), 'learning_off', 'decision_id');
    record = { ...record, ...facts('coding'), choice: 'openai/any' };
    await expectError(await give(good), 'learning_off', 'decision_id');
    expect(scored).toEqual([]);
  });

  test('a request that is still running', async () => {
    record = { ...record, kind: 'chat', outcome: null };
    await expectError(await give(good), 'in_flight', 'decision_id');
    expect(scored).toEqual([]);
  });

  for (const status of ['failed', 'broken', 'abandoned']) {
    test(`a request that was ${status}`, async () => {
      record = { ...record, outcome: outcome(status, 'best') };
      const { details } = (await expectError(await give(good), 'nothing_to_score', 'decision_id')) as {
        details?: object;
      };
      expect(details).toEqual({ status });
      expect(scored).toEqual([]);
    });
  }

  test('a second score that differs, and a score that cannot be stored', async () => {
    answer = ({ label }) => ({ isFirst: false, score: 0.5, label });
    await expectError(await give(good), 'feedback_conflict', 'score');
    answer = () => {
      throw new StoreError('the disk is full');
    };
    await expectError(await give(good), 'overloaded');
    expect(defects).toEqual([]);
  });
});
