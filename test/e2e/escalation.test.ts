import { beforeEach, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** Tests signals that are not in the transcript, and the share of escalated conversations, through HTTP. */
const upstream = useUpstream();
const POLICY = `version: 1
gateway: { retries_max: 0 }
providers: { sim: { adapter: openai-compatible, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY } }
models:
  small: { provider: sim, price: { input: 0.1, output: 0.4 }, context_window: 90000, max_output: 9000, quality: { default: 0.7 } }
  strong: { provider: sim, price: { input: 5, output: 20 }, context_window: 90000, max_output: 9000, quality: { default: 0.9 } }
selectors:
  auto: { strategy: auto, tiers: { usual: [small], strong: [strong] } }
`;

const live = useLivePolicy(() => ({ 'policy.yaml': POLICY }), { env: UPSTREAM_ENV });

const use = async (escalate: string) => {
  const { revision } = await live.status();
  live.replace('policy.yaml', `${POLICY}escalate: ${escalate}\n`);
  await live.changedFrom(revision);
};

interface Shown {
  readonly id: string;
  readonly choice: string;
  readonly tier: { readonly name: string; readonly why: string };
  readonly facts: {
    readonly escalation: { readonly signal: string; readonly turns_ago: number } | null;
    readonly unescalated: {
      readonly signal: string;
      readonly escalated: number;
      readonly conversations: number;
    } | null;
    readonly conversation: { readonly id: string; readonly answers: number } | null;
  };
  readonly replay: { readonly matches: boolean };
  readonly explanation: readonly string[];
}

const messagesOf = (texts: readonly string[]) =>
  texts.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }));

async function ask(texts: readonly string[], more: object = {}, headers: Record<string, string> = {}): Promise<Shown> {
  const body = { model: 'auto', messages: messagesOf(texts), ...more };
  const answer = await live.box.post('/v1/chat/completions', body, { headers });
  expect(answer.status).toBe(200);
  const { platform } = (await answer.json()) as { platform: { decision_id: string } };
  const { decision_id: id } = platform;
  return { ...(await ((await live.box.get(`/v1/decisions/${id}`)).json() as Promise<Shown>)), id };
}

const score = (decision: Shown, value: number) =>
  live.box.post('/v1/feedback', { decision_id: decision.id, score: value });

/** Makes the first question of each test the beginning of its own conversations. */
let nth = 0;
let question = '';
beforeEach(() => {
  question = `hi, what is the capital of country ${nth++}?`;
});

test('a score below 0.5 escalates its conversation from the next request on, for a stated number of answers', async () => {
  await use('{ on: [low_score], turns: 2 }');
  const first = await ask([question]);
  expect(first).toMatchObject({ choice: 'small', facts: { escalation: null, conversation: { answers: 0 } } });
  expect((await score(first, 0.49)).status).toBe(200);
  const next = [question, 'Rome.', 'And the river?'];
  expect(await ask(next)).toMatchObject({
    choice: 'strong',
    tier: { name: 'strong', why: 'escalated' },
    facts: { escalation: { signal: 'low_score', turns_ago: 0 } },
    replay: { matches: true },
  });
  const third = [...next, 'The Tiber.', 'And the lake?'];
  expect(await ask(third)).toMatchObject({ choice: 'strong', facts: { escalation: { turns_ago: 1 } } });
  expect(await ask([...third, 'Como.', 'Thanks']), 'ended').toMatchObject({
    choice: 'small',
    facts: { escalation: null },
  });
});

test('a question that is sent twice escalates its conversation, and a short turn such as “continue” does not', async () => {
  await use('{ on: [repeated_question] }');
  for (const short of ['continue', 'yes', '1', '继续写下去吧']) {
    const repeated = [question, 'Rome.', short, 'The river is the Tiber.', short];
    expect(await ask(repeated), short).toMatchObject({ choice: 'small', facts: { escalation: null } });
  }
  for (const long of ['Which river is in Rome?', '罗马的河流叫什么？']) {
    const repeated = [question, 'Rome.', long, 'The Tiber.', long];
    const escalation = { signal: 'repeated_question', turns_ago: 0 };
    expect(await ask(repeated), long).toMatchObject({ choice: 'strong', facts: { escalation } });
  }
});

test('a score of 0.5 or more, and the score of another conversation, escalate nothing', async () => {
  await use('{ on: [low_score] }');
  await score(await ask([question]), 0.5);
  expect(await ask([question, 'Rome.', 'Sure?'])).toMatchObject({ choice: 'small' });
  await score(await ask([`${question} And why?`]), 0);
  expect(await ask([question, 'Rome.', 'Sure?'])).toMatchObject({ choice: 'small' });
});

test('the same words of another user or session are another conversation', async () => {
  await use('{ on: [low_score, repeated_request] }');
  await score(await ask([question], { user: 'ada' }), 0);
  expect(await ask([question], { user: 'ben' })).toMatchObject({ choice: 'small' });
  expect(await ask([question], {}, { 'x-signalbox-session': 'two' })).toMatchObject({ choice: 'small' });
  expect(await ask([question], { user: 'ada' })).toMatchObject({ choice: 'strong' });
});

test('a request that is sent again after its answer escalates the conversation', async () => {
  await use('{ on: [repeated_request], turns: 2 }');
  const texts = [question, 'Rome.', 'And the river?'];
  expect(await ask(texts)).toMatchObject({ choice: 'small' });
  const again = await ask(texts);
  expect(again).toMatchObject({
    choice: 'strong',
    facts: { escalation: { signal: 'repeated_request', turns_ago: 0 } },
    replay: { matches: true },
  });
  expect(again.explanation.join(' ')).toContain('sent again');
  expect(await ask([...texts, 'The Tiber.', 'And the lake?'])).toMatchObject({
    choice: 'strong',
    facts: { escalation: { signal: 'repeated_request', turns_ago: 1 } },
  });
  const other = await ask([question, 'Rome.', 'And the sea?', 'Which?', 'Any', 'One.', 'So?', 'No.', 'Well?']);
  expect(other, 'turns are over').toMatchObject({ choice: 'small' });
});

test('neither a retry after an error, a repeat with its Idempotency-Key, nor a recommendation is a repeated request', async () => {
  await use('{ on: [repeated_request] }');
  upstream.next({ fail: 'overloaded' }, { fail: 'overloaded' });
  const failed = await live.box.post('/v1/chat/completions', { model: 'auto', messages: messagesOf([question]) });
  expect(failed.status).toBeGreaterThanOrEqual(500);
  expect(await ask([question])).toMatchObject({ choice: 'small' });
  const named = { 'idempotency-key': `name-${nth}` };
  const once = [`${question} Once.`];
  const first = await ask(once, {}, named);
  expect((await ask(once, {}, named)).id).toBe(first.id);
  await live.box.post('/v1/route', { model: 'auto', messages: messagesOf([`${question} Routed.`]) });
  expect(await ask([`${question} Routed.`])).toMatchObject({ choice: 'small' });
});

test('no more than the share of a key is escalated, a session that is escalated stays, and the decision says why another is not', async () => {
  await use('{ on: [correction], share_max: 0.5 }');
  const key = { authorization: `Bearer ${await live.box.makeKey('--scope', 'chat,admin')}` };
  const failed = (name: string) => [`${question} ${name}`, 'Rome.', 'That is wrong.'];
  const escalated = await ask(failed('a'), {}, key);
  expect(escalated).toMatchObject({ choice: 'strong' });
  const second = await ask(failed('b'), {}, key);
  expect(second).toMatchObject({
    choice: 'small',
    facts: { escalation: null, unescalated: { signal: 'correction', escalated: 1, conversations: 1 } },
    replay: { matches: true },
  });
  expect(second.explanation.join(' ')).toContain('share_max');
  expect(await ask([...failed('a'), 'Sorry.', 'And?'], {}, key)).toMatchObject({ choice: 'strong' });
  expect(await ask(failed('c')), 'another key').toMatchObject({ choice: 'strong' });
});

test('a conversation whose budget rejects the price of the strong tier keeps its usual tier, and the decision says why', async () => {
  const { revision } = await live.status();
  const budget =
    '{ name: small, each: key, match: key.labels.poor == "yes", limit_credits: 1, window: day, on_exhausted: reject }';
  live.replace('policy.yaml', `${POLICY}escalate: { on: [correction] }\nbudgets: [${budget}]\n`);
  await live.changedFrom(revision);
  const key = {
    authorization: `Bearer ${await live.box.makeKey('--scope', 'chat,route,admin', '--label', 'poor=yes')}`,
  };
  const failed = [question, 'Rome.', 'That is wrong.'];
  expect(await ask(failed, { max_tokens: 100 }), 'rich').toMatchObject({ choice: 'strong' });
  const before = await live.metrics();
  const decided = await ask(failed, { max_tokens: 100 }, key);
  expect(decided).toMatchObject({
    choice: 'small',
    tier: { name: 'usual' },
    facts: { escalation: null, unescalated: { signal: 'correction', why: 'money', escalated: null } },
    replay: { matches: true },
  });
  expect(decided.explanation.join(' ')).toContain('cannot pay');
  const after = await live.metrics();
  const series = 'signalbox_escalations_withheld_total{signal="correction"}';
  expect((after.get(series) ?? 0) - (before.get(series) ?? 0)).toBe(1);
  const body = { model: 'auto', messages: messagesOf(failed), max_tokens: 100 };
  const advice = await live.box.post('/v1/route', body, { headers: key });
  expect(await advice.json()).toMatchObject({ recommended_model: 'small', route_reason: 'auto:usual' });
  const whole = await live.box.post('/v1/chat/completions', { ...body, max_tokens: 9_000 }, { headers: key });
  expect(whole.status, 'no model fits').toBe(402);
  expect(await ask(failed, { max_tokens: 10 }, key), 'the strong model fits').toMatchObject({ choice: 'strong' });
});

test('the log and the metrics name the signal', async () => {
  await use('{ on: [correction], share_max: 0 }');
  const key = { authorization: `Bearer ${await live.box.makeKey('--scope', 'chat,admin')}` };
  const before = await live.metrics();
  for (const name of ['a', 'b']) await ask([`${question} ${name}`, 'Rome.', 'That is wrong.'], {}, key);
  const after = await live.metrics();
  // The line of a request follows its answer.
  const chats = () => live.box.lines.filter((line) => line.includes('"message":"chat"'));
  await waitFor(() => chats().at(-1)?.includes('"escalation_withheld"') ?? false);
  const lines = chats().map((line) => JSON.parse(line));
  expect(lines.slice(-2)).toMatchObject([{ escalation: 'correction' }, { escalation_withheld: 'correction' }]);
  for (const name of ['signalbox_escalations_total', 'signalbox_escalations_withheld_total']) {
    const series = `${name}{signal="correction"}`;
    expect([name, (after.get(series) ?? 0) - (before.get(series) ?? 0)]).toEqual([name, 1]);
  }
});
