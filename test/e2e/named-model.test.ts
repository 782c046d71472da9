import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { adviceOf, answerOf, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const policy = testPolicy({ up: upstream.url }, { luna: { endpoints: ['up'] }, sol: { endpoints: ['up'] } });
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const bodyFor = (model: string) => ({
  model,
  messages: [{ role: 'user', content: 'Translate into French: the rain falls on the sea.' }],
});

interface DecisionAnswer {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly explanation: readonly string[];
  readonly replay: object;
}

/** Returns the decision of a chat, its explanation, and its log line. */
async function explained(model: string) {
  const response = await box.post('/v1/chat/completions', bodyFor(model));
  const { platform } = await answerOf(response);
  const id = platform.decision_id;
  const decision = (await (await box.get(`/v1/decisions/${id}`)).json()) as DecisionAnswer;
  const line = await waitFor(() => box.lines.find((text) => text.includes(id)));
  return { id, decision, logged: JSON.parse(line) as { readonly task: string } };
}

describe('a chat that names its model, and in which nothing depends on its task', () => {
  test('the decision, its explanation, the log and the list say that the task was not read', async () => {
    const { id, decision, logged } = await explained('luna');
    expect(decision.facts).toMatchObject({ pinned: true, task: 'unread', task_shares: [], difficulty: 'usual' });
    expect(decision.facts).toMatchObject({ natural_language: 'und', languages: [], asked_output_tokens: null });
    expect(decision.explanation[0]).toStartWith(
      'The request names luna, and its task was not read, because nothing depends on it: about 1',
    );
    expect(decision.replay).toEqual({ matches: true, reason: null, endpoints: null });
    expect(logged.task).toBe('unread');
    const list = (await (await box.get('/admin/decisions?task=unread')).json()) as { data: { id: string }[] };
    expect(list.data.map((one) => one.id)).toEqual([id]);
  });

  test('the task is read if a selector chooses, and for a recommendation, which shows the expected cost', async () => {
    const { decision, logged } = await explained('auto');
    expect(decision.facts).toMatchObject({ pinned: false, task: 'translation' });
    expect(decision.explanation[0]).toStartWith('The request names auto, and its task is translation');
    expect(logged.task).toBe('translation');
    const advice = await adviceOf(await box.post('/v1/route', bodyFor('luna')));
    expect(advice.reasoning).toContain('task translation');
  });
});

test('the task is read if money is short, because the least useful answer depends on the task', async () => {
  const policy = testPolicy(
    { up: upstream.url },
    { luna: { endpoints: ['up'] } },
    'budgets: [{ name: small, limit_credits: 2, window: total }]\n',
  ).replace('default_input_tokens: 500, min_useful_output: 64', 'default_input_tokens: 500, min_useful_output: 4000');
  const own = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    const body = {
      model: 'luna',
      messages: [{ role: 'user', content: 'Write a Python function that adds two numbers.' }],
    };
    expect((await own.post('/v1/route', body)).status).toBe(200);
    const { platform } = await answerOf(await own.post('/v1/chat/completions', body));
    expect(platform).toMatchObject({ routed_model: 'luna', output_capped_by: 'small' });
  } finally {
    await own.stop();
  }
});
