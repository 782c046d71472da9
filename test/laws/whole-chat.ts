import fc from 'fast-check';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';

export type Body = Readonly<Record<string, unknown>>;

const CAN_LITTLE = 'capabilities: [tools, json_schema]';
const CAN_ALL = 'capabilities: [tools, vision, json_schema, json_mode, choices, logprobs]';
const endpoints = ['up'];
const all = { more: `    image_tokens_max: 1600\n` };

/** Returns a policy of models with different capabilities, and rules that read every field of a chat. */
export function policyFor({ url }: FakeUpstream): string {
  const policy = testPolicy(
    { up: url },
    {
      best: { endpoints, price: { input: 5, output: 20 }, quality: 0.95, ...all },
      good: { endpoints, price: { input: 1, output: 4 }, quality: 0.85, ...all },
      cheap: { endpoints, price: { input: 0.05, output: 0.2 }, quality: 0.7, ...all },
      plain: { endpoints, price: { input: 0.5, output: 2 }, quality: 0.9 },
      thinker: { endpoints, price: { input: 2, output: 8 }, quality: 0.9, more: '    reasoning_tokens: 900\n' },
    },
    `constraints:
  - { name: streams-are-cheap, when: request.stream, require: model.price.output < 8.0 }
  - { name: ada-is-frugal, when: 'request.user == "ada"', max_cost_credits: 2 }
  - { name: batches-wait, when: 'request.metadata.kind == "batch"', require: 'model.id != "best"' }
  - { name: small-money, when: 'request.budget_limit > 0.0 && request.budget_limit < 9.0', require: 'model.id != "good"' }
preferences:
  - { name: tools-like-good, when: request.tools, prefer: 'model.id == "good"', worth: 0.2 }
  - { name: short-is-cheap, when: 'request.max_tokens > 0 && request.max_tokens < 100', prefer: 'model.id == "cheap"', worth: 0.3 }
budgets:
  - { name: downgrading, each: key, match: 'key.labels.kind == "downgrade"', limit_credits: 25, window: total, on_exhausted: downgrade }
  - { name: refusing, each: key, match: 'key.labels.kind == "reject"', limit_credits: 25, window: total, on_exhausted: reject }
  - { name: capping, each: key, match: 'key.labels.kind == "cap"', limit_credits: 25, window: total }
`,
  );
  // Gives all capabilities to the first three models.
  return ['best', 'good', 'cheap'].reduce((made) => made.replace(CAN_LITTLE, CAN_ALL), policy);
}

const text = fc.oneof(
  fc.constantFrom('Hello!', '```js\nlet x\n```', 'Solve 2x + 3 = 9', 'Answer in one word: is it raining?', 'fix it'),
  fc.constantFrom('Schreibe eine Funktion in Rust, die eine Liste sortiert.', 'What is the weather in Bern?'),
  fc.constantFrom(1, 100, 3000).map((n) => 'word '.repeat(n)),
);
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const content = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: text.map((words) => [{ type: 'text', text: words }, image]) },
);
const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } };
const called = [
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', tool_call_id: 'c1', content: '20 °C' },
];
/** A conversation that is long enough for prompt caches, and its next turn. */
const opening = [{ role: 'user', content: `Translate into German: ${'The rain falls on the sea. '.repeat(300)}` }];
const nextTurn = [...opening, { role: 'assistant', content: 'Es regnet.' }, { role: 'user', content: 'und kürzer?' }];

const messages = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom([], [{ role: 'system', content: 'Be brief.' }]), content, fc.constantFrom([], called))
      .map(([before, last, after]) => [...before, { role: 'user', content: last }, ...after]),
  },
  { weight: 1, arbitrary: fc.constantFrom(opening, nextTurn) },
  { weight: 1, arbitrary: fc.constantFrom([{ role: 'user' }], [{ role: 'tool', content: 'x' }]) },
);

const tool = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
});
const share = fc.constantFrom(0, 0.2, 0.5, 1, 3);

/** Each field is optional. The chat route and the recommendation route must refuse contradictory fields with the same error. */
const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  stream: fc.constantFrom(true, false, null),
  tools: fc.constantFrom([tool('weather')], [tool('weather'), tool('search')], []),
  tool_choice: fc.constantFrom<unknown>(
    ...['auto', 'none', 'required', { type: 'function', function: { name: 'weather' } }],
    { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool('weather')] } },
  ),
  parallel_tool_calls: fc.boolean(),
  response_format: fc.constantFrom(
    { type: 'text' },
    { type: 'json_object' },
    { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object', properties: {} } } },
  ),
  n: fc.constantFrom(1, 2, 3),
  max_tokens: fc.constantFrom(1, 50, 700, 9000),
  max_completion_tokens: fc.constantFrom(50, 700),
  temperature: fc.constantFrom(0, 1, 1.5),
  seed: fc.constantFrom(1, null),
  logprobs: fc.boolean(),
  constraints: fc.record(
    {
      max_cost_credits: fc.constantFrom(0.001, 0.1, 1.6, 10, null),
      max_latency_ms: fc.constantFrom(50, 4100, 20_000),
      required_languages: fc.constantFrom(['Python'], ['rust'], null),
    },
    { requiredKeys: [] },
  ),
  route_strategy: fc.record({ cost_weight: share, quality_weight: share }, { requiredKeys: [] }),
  budget_limit: fc.constantFrom(0.000001, 0.01, 1, 8, 30, 1000),
  metadata: fc.constantFrom({ kind: 'batch' }, { kind: 'live' }, {}, null),
  user: fc.constantFrom('ada', 'bob', null),
  agent_wallet: fc.constantFrom('my label', null),
  service_tier: fc.constantFrom('auto', 'flex'),
  verbosity: fc.constant('low'),
  never_heard_of: fc.constant({ by: ['anyone'] }),
};
const fields = fc
  .subarray(Object.keys(FIELDS), { maxLength: 6 })
  .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, FIELDS[name]!]))));

/** Generates any chat, including invalid chats. */
export const chats: fc.Arbitrary<Body> = fc
  .record({
    model: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('auto', 'auto-fast', 'auto-cheap') },
      { weight: 2, arbitrary: fc.constantFrom('best', 'plain', 'nobody') },
    ),
    messages,
    fields,
  })
  .map(({ fields: more, ...rest }) => ({ ...rest, ...more }));

const hello = [{ role: 'user', content: 'Hello!' }];
/** Rare cases, part of every run: each field that must be read, each refusal, and a conversation that a prompt cache contains. */
export const ALWAYS: readonly Body[] = [
  { model: 'best', messages: opening },
  { model: 'best', messages: nextTurn },
  { model: 'auto', messages: hello, tools: [tool('weather')], n: 2, budget_limit: 1_000, never_heard_of: {} },
  { model: 'auto', messages: hello, response_format: { type: 'json_object' } },
  { model: 'auto', messages: hello, constraints: { max_latency_ms: 50 } },
  { model: 'auto', messages: hello, budget_limit: 0.000001 },
  { model: 'nobody', messages: hello },
  { model: 'auto', messages: hello, tool_choice: 'required' },
  { model: 'auto', messages: [{ role: 'user' }] },
];

/** Tries three times, because measurements change decisions once a second, and a change may come between the two answers. */
export function withRetries<Given extends unknown[]>(agree: (...given: Given) => Promise<void>) {
  return async (...given: Given): Promise<void> => {
    for (let left = 2; ; left--) {
      try {
        return await agree(...given);
      } catch (error) {
        if (left === 0) throw error;
      }
    }
  };
}
