import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { makeKeys } from '../gateway/money/keys.ts';
import { adviceOf, answerOf, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { ALWAYS, type Body, chats, policyFor, withRetries } from './whole-chat.ts';

/** Truncated answers are not measured, so that a route query and the chat after it expect the same length. */
const CUT = { text: ['well'], finish: 'length' };
let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: CUT });
  box = await startSignalbox({ policy: policyFor(upstream), env: UPSTREAM_ENV });
});

afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

interface DecisionRecord {
  readonly facts: { readonly cached_input_tokens: object };
  readonly candidates: readonly { readonly estimate: { readonly length: number } | null }[];
}

const VARYING_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'created', 'time', 'kind', 'seed', 'status', 'outcome', 'receipt', 'sentences'],
]);

/** Returns the part of a record that describes how the decision was made, without its time and outcome. */
async function decisionOf(id: string): Promise<DecisionRecord> {
  const response = await waitFor(async () => {
    const found = await box.get(`/v1/decisions/${id}`);
    return found.status === 200 ? found : null;
  });
  const record = Object.entries((await response.json()) as Body);
  return Object.fromEntries(record.filter(([name]) => !VARYING_FIELDS.has(name))) as unknown as DecisionRecord;
}

/** The outcomes that `ALWAYS` produces. The law may produce these and others by chance. */
const OUTCOMES = [
  ...['decided', 'cached', 'tools', 'response_format', 'n', 'budget_limit', 'never_heard_of'],
  ...['no_eligible_model', 'budget_limit_too_low', 'model_not_found', 'invalid_value', 'missing_field'],
];
const outcomes = new Map<string, number>();
const count = (outcome: string) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);

/** Sends the route query, then the same chat. @param asRead turns the chat into the body of the route query */
async function agree(chat: Body, asRead: (chat: Body) => Body, by: RequestInit): Promise<void> {
  const routed = await box.post('/v1/route', asRead(chat), by);
  const advice = await adviceOf(routed);
  const chatted = await box.post('/v1/chat/completions', chat, by);
  if (routed.status !== 200) {
    const { error } = await answerOf(chatted);
    expect({ status: chatted.status, error }).toEqual({ status: routed.status, error: advice.error });
    return count(error.code);
  }
  await chatted.text();
  const id = chatted.headers.get('x-signalbox-decision-id');
  expect(id).not.toBeNull();
  const decision = await decisionOf(id!);
  expect(decision).toEqual(await decisionOf(advice.decision_id));
  if (Object.keys(decision.facts.cached_input_tokens).length > 0) count('cached');
  count('decided');
  for (const field of Object.keys(chat)) count(field);
}

const unchanged = (chat: Body): Body => chat;
const law = (asRead: (chat: Body) => Body, callers: readonly RequestInit[] = [{}]) =>
  fc.asyncProperty(
    chats,
    fc.constantFrom(...callers),
    withRetries((chat, by) => agree(chat, asRead, by)),
  );

const without =
  (...names: readonly string[]) =>
  (chat: Body): Body =>
    Object.fromEntries(Object.entries(chat).filter(([name]) => !names.includes(name)));

describe('a chat that was sent to /v1/route unchanged', () => {
  test('a chat that was sent to /v1/route unchanged gets the recommended decision with an equal record, or the same refusal', async () => {
    for (const chat of ALWAYS) await withRetries(agree)(chat, unchanged, {});
    expect(OUTCOMES.filter((outcome) => !outcomes.has(outcome))).toEqual([]);
    await fc.assert(
      law(unchanged),
      tries('a chat gets the decision that /v1/route recommended, with an equal record, or the same refusal', 8, 400),
    );
    console.log('chats:', [...outcomes].map(([outcome, times]) => `${outcome} ${times}`).join(', '));
  });

  test('a chat that was sent to /v1/route unchanged also gets the recommended decision if the budget of its key runs out, whether it downgrades, refuses or caps', async () => {
    const keys = await makeKeys(
      box,
      ['reject', 'downgrade', 'cap', 'reject'].map((kind) => ({ kind })),
    );
    const callers = keys.map(({ key }) => ({ headers: { authorization: `Bearer ${key}` } }));
    // The answer uses all allowed output, so that budgets are soon spent.
    upstream.behave(({ body }) => ({
      ...CUT,
      usage: { completion_tokens: Number(body.max_completion_tokens ?? body.max_tokens) },
    }));
    // The key spends one of its budgets before the random requests begin, because each of these requests costs more than half of that
    // budget.
    const dear = { model: 'best', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 700 };
    for (let sent = 0; sent < 3; sent++) await withRetries(agree)(dear, unchanged, callers[0]!);
    expect(outcomes.get('insufficient_quota')).toBeGreaterThan(0);
    await fc.assert(law(unchanged, callers), {
      ...tries('a chat of a key whose budget runs out gets what /v1/route recommended', 8, 300),
      examples: callers.map((by): [Body, RequestInit] => [{ ...ALWAYS[0], model: 'best' }, by]),
    });
    upstream.behave(CUT);
  });

  test.each<[string, (chat: Body) => Body]>([
    ['tools', without('tools', 'tool_choice', 'parallel_tool_calls')],
    ['formats', without('response_format')],
    ['budget_limit', without('budget_limit')],
    ['stream', without('stream', 'stream_options')],
    ['max_tokens', without('max_tokens', 'max_completion_tokens')],
    ['n', without('n')],
    ['user', without('user')],
    ['unknown fields, which it refuses', (chat) => ({ ...chat, ...('never_heard_of' in chat && { messages: null }) })],
  ])(
    'a chat that was sent to /v1/route unchanged would get another decision if /v1/route ignored %s',
    async (_, asRead) => {
      const { failed } = await fc.check(law(asRead), { numRuns: 400, endOnFailure: true });
      expect(failed).toBe(true);
    },
  );

  test('a chat that was sent to /v1/route unchanged may state facts, which then override the facts of its content', async () => {
    const chat = { messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 300, tools: null };
    const hints = { task_type: 'coding', estimated_input_tokens: 9000, estimated_output_tokens: 200 };
    const advice = await adviceOf(await box.post('/v1/route', { ...chat, ...hints }));
    expect(await decisionOf(advice.decision_id)).toMatchObject({
      facts: {
        model: 'auto',
        task: 'coding',
        task_shares: [],
        estimated_input_tokens: 9000,
        max_input_tokens: 9000,
        estimated_output_tokens: 200,
        max_tokens: 300,
      },
    });
  });
});
