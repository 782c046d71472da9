import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Tests scores through the HTTP API that clients use. */
const upstream = useUpstream();
let box: Signalbox;
let other: string;

const messages = [{ role: 'user', content: 'Write a function that adds two numbers.' }];
const chat = async (one = box, body: object = {}): Promise<string> =>
  (await answerOf(await one.post('/v1/chat/completions', { model: 'auto', messages, ...body }))).platform.decision_id;
const give = (body: object, one = box, init: RequestInit = {}) => one.post('/v1/feedback', body, init);
const told = async (body: object) => {
  const response = await give(body);
  expect(response.status).toBe(200);
  return response.json();
};

beforeAll(async () => {
  const plain = { endpoints: ['fake'], quality: 0.5 };
  const models = { best: { endpoints: ['fake'], quality: 0.9 }, plain, scored: plain };
  // A low score moves no conversation to another model here.
  const more = 'gateway: { failed_auth_per_minute: 1000000, retries_max: 0 }\nescalate: { on: [] }\n';
  const policy = testPolicy({ fake: upstream.url }, models, more);
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  other = await box.makeKey('--scope', 'admin,chat');
});
afterAll(async () => {
  await box.stop();
});

describe('POST /v1/feedback', () => {
  test('an answer is scored at once, and only once; the same score again gets the same result', async () => {
    const decision = await chat();
    const scored = await told({ decision_id: decision, score: 0.25, label: 'unit-tests' });
    expect(scored).toEqual({
      object: 'feedback',
      decision_id: decision,
      model: 'best',
      task: 'coding',
      score: 0.25,
      label: 'unit-tests',
      result: 'learnt',
      weight: 1,
    });
    expect(await told({ decision_id: decision, score: 0.25 })).toMatchObject({
      result: 'repeated',
      weight: 1,
      label: 'unit-tests',
    });
    await expectError(await give({ decision_id: decision, score: 1 }), 'feedback_conflict', 'score');
  });

  test('a recommendation and a streamed answer can be scored', async () => {
    const { decision_id: advised } = (await (await box.post('/v1/route', { messages })).json()) as {
      decision_id: string;
    };
    expect(await told({ decision_id: advised, score: 1 })).toMatchObject({ model: 'best', result: 'learnt' });
    const streamed = await box.post('/v1/chat/completions', { model: 'plain', messages, stream: true });
    await streamed.text();
    const decision = streamed.headers.get('x-signalbox-decision-id')!;
    expect(await told({ decision_id: decision, score: 0 })).toMatchObject({ model: 'plain', result: 'learnt' });
  });

  test('only the key that made the request can score its answer, whatever another key may do', async () => {
    const decision = await chat();
    await expectError(await give({ decision_id: decision, score: 0 }, box, withKey(other)), 'not_found', 'decision_id');
    expect(await told({ decision_id: decision, score: 1 })).toMatchObject({ result: 'learnt' });
  });

  test('a request without an answer cannot be scored', async () => {
    upstream.next({ status: 500 });
    const failed = await box.post('/v1/chat/completions', { model: 'best', messages });
    expect(failed.status).toBe(502);
    const decision = failed.headers.get('x-signalbox-decision-id')!;
    await expectError(await give({ decision_id: decision, score: 0 }), 'nothing_to_score', 'decision_id');
  });

  test('a score counts at most once, even if it arrives several times at the same time', async () => {
    const decision = await chat(box, { model: 'best' });
    const given = await Promise.all(
      Array.from({ length: 8 }, () => told({ decision_id: decision, score: 1 }) as Promise<{ result: string }>),
    );
    expect(given.map(({ result }) => result).sort()).toEqual(['learnt', ...Array(7).fill('repeated')]);
  });
});

test('scores change no decision, and their means are shown by model and task', async () => {
  const qualityOf = async (decision: string) => {
    const { quality } = (await (await box.get(`/v1/decisions/${decision}`)).json()) as { quality: { plain: number } };
    return quality.plain;
  };
  // The task of these requests is not read.
  const scored = async (score: number) => {
    const decision = await chat(box, { model: 'scored', user: `${score}` });
    await told({ decision_id: decision, score });
    return await qualityOf(decision);
  };
  expect([await scored(0), await scored(0.25), await scored(0.5)]).toEqual([0.5, 0.5, 0.5]);
  // Other tests score answers of other models.
  const shown = (await (await box.get('/admin/learning')).json()) as {
    outcomes: number;
    models: readonly { model: string }[];
  };
  const figures = { model: 'scored', outcomes: 3, declared: 0.5, learnt: 0.25, difference_points: -25 };
  expect(shown.outcomes).toBeGreaterThanOrEqual(3);
  expect(shown.models.filter(({ model }) => model === 'scored')).toMatchObject([
    { ...figures, task: null },
    { ...figures, task: 'unread' },
  ]);
  expect(await (await box.get('/metrics')).text()).toMatch(/signalbox_outcomes_total\{source="caller"\} [1-9]\d*\n/);
});
