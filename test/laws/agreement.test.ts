import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { makeKeys } from '../gateway/money/keys.ts';
import { adviceOf, answerOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { withRetries } from './whole-chat.ts';

/** Truncated answers are not measured, so that a route query and the chat after it expect the same length. */
const CUT = { finish: 'length' };
let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: CUT });
  const endpoints = ['up'];
  const policy = testPolicy(
    { up: upstream.url },
    {
      best: { endpoints, price: { input: 5, output: 20 }, quality: 0.95 },
      good: { endpoints, price: { input: 1, output: 4 }, quality: 0.85 },
      twin: { endpoints, price: { input: 1, output: 4 }, quality: 0.85 },
      cheap: { endpoints, price: { input: 0.05, output: 0.2 }, quality: 0.7 },
      free: { endpoints, price: { input: 0, output: 0 }, quality: 0.4 },
      'thinks/long': {
        endpoints,
        price: { input: 2, output: 8 },
        quality: 0.9,
        more: '    reasoning_tokens: 900\n    image_tokens_max: 1600\n',
      },
    },
    `selectors: { thrifty: { strategy: auto-cheap, options: { margin: 0.3 } } }
budgets:
  - { name: downgrading, each: key, match: 'key.labels.kind == "downgrade"', limit_credits: 25, window: total, on_exhausted: downgrade }
  - { name: refusing, each: key, match: 'key.labels.kind == "reject"', limit_credits: 25, window: total, on_exhausted: reject }
`,
  ).replace(
    'image_tokens_max: 1600\n',
    'image_tokens_max: 1600\n  eyes:\n    provider: up\n    price: { input: 3, output: 9 }\n    context_window: 2000000\n    max_output: 4096\n    capabilities: [vision, file_input]\n    languages: [python, rust]\n    quality: { default: 0.6, coding: 0.9 }\n',
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});

afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const text = fc.oneof(
  fc.constantFrom('Hello!', '```js\nlet x\n```', 'Solve 2x + 3 = 9', '你好，世界', ''),
  fc.constantFrom('Napisz funkcję w Rust, która sortuje listę.', 'Summarize this in one sentence: it rains.', 'fix it'),
  fc.string({ maxLength: 200 }),
  fc.constantFrom(1, 100, 1000, 60_000).map((n) => 'word '.repeat(n)),
);
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const file = { type: 'file', file: { file_data: 'AAAA', filename: 'a.pdf' } };
const content = fc.oneof(
  { weight: 4, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc
      .tuple(text, fc.constantFrom(image, file))
      .map(([words, part]) => [{ type: 'text', text: words }, part]),
  },
);
/** A conversation that is long enough for prompt caches, and its next turn. */
const opening = [{ role: 'user', content: `Translate into German: ${'The rain falls on the sea. '.repeat(300)}` }];
const nextTurn = [...opening, { role: 'assistant', content: 'Es regnet.' }, { role: 'user', content: 'und kürzer?' }];

const talk = fc
  .tuple(
    fc.array(fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text }), { maxLength: 2 }),
    content,
  )
  .map(([before, last]) => [...before, { role: 'user', content: last }]);

const messages: fc.Arbitrary<readonly object[]> = fc.oneof(
  { weight: 8, arbitrary: talk },
  { weight: 1, arbitrary: fc.constantFrom(opening, nextTurn) },
);

const share = fc.constantFrom(0, 0.2, 0.5, 1, 3);
const constraints = fc.record(
  {
    max_cost_credits: fc.constantFrom(0.001, 0.1, 1.6, 2, 10, 50),
    max_latency_ms: fc.constantFrom(50, 4100, 4200, 20_000, 60_000),
    required_languages: fc.constantFrom([], ['Python'], ['py', 'TS'], ['rust'], ['COBOL']),
  },
  { requiredKeys: [] },
);

interface ChatFields {
  readonly model: string;
  readonly messages: readonly object[];
  readonly constraints?: object;
  readonly route_strategy?: object;
}

/** Messages and fields that affect the choice. `whole-chat.test.ts` has the others. */
const facts: fc.Arbitrary<ChatFields> = fc.record(
  {
    model: fc.oneof(
      fc.constantFrom('auto', 'auto-fast', 'auto-cheap', 'thrifty'),
      fc.constantFrom('best', 'free', 'thinks/long', 'eyes', 'nobody'),
    ),
    messages,
    constraints,
    route_strategy: fc.record({ cost_weight: share, quality_weight: share }, { requiredKeys: [] }),
  },
  { requiredKeys: ['model', 'messages'] },
);

const hello = [{ role: 'user', content: 'Hello!' }];
/** No model is fast enough for this. */
const IMPOSSIBLE = { model: 'auto', messages: hello, constraints: { max_latency_ms: 1 } };
/** Refusals that must occur, part of every run. */
const ALWAYS: [ChatFields][] = [
  [IMPOSSIBLE],
  [{ model: 'nobody', messages: hello }],
  [{ model: 'auto', messages: hello, route_strategy: { cost_weight: 0, quality_weight: 0 } }],
  [{ model: 'best', messages: [{ role: 'user', content: 'word '.repeat(60_000) }] }],
];

/** A request that costs more than a budget allows. */
const DEAREST = { model: 'auto', route_strategy: { cost_weight: 0, quality_weight: 1 } };

const seen = new Map<string, number>();

describe('chat and route', () => {
  test('chat and /v1/route choose the same model for the same facts, or refuse with the same status, code and message', async () => {
    await fc.assert(
      fc.asyncProperty(
        facts,
        withRetries(async (body) => {
          const [routed, chatted] = await Promise.all([
            box.post('/v1/route', body),
            box.post('/v1/chat/completions', body),
          ]);
          expect(chatted.status).toBe(routed.status);
          const advice = await adviceOf(routed);
          const answer = await answerOf(chatted);
          if (routed.status === 200) {
            expect(answer.model).toBe(advice.recommended_model);
            expect(answer.platform.route_reason).toBe(advice.route_reason);
            expect(answer.platform.policy_revision).toBe(advice.policy_revision);
            expect(answer.platform.credits_consumed).toBeLessThanOrEqual(advice.max_cost_credits);
          } else {
            expect(answer.error).toEqual(advice.error);
          }
          const outcome = advice.recommended_model ?? advice.error.code;
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        }),
      ),
      { ...tries('chat and /v1/route choose the same model, or refuse in the same way', 20, 800), examples: ALWAYS },
    );
    console.log('outcomes:', [...seen].map(([outcome, count]) => `${outcome} ${count}`).join(', '));
    for (const code of ['no_eligible_model', 'context_length_exceeded', 'model_not_found', 'out_of_range']) {
      expect(seen.get(code) ?? 0).toBeGreaterThan(0);
    }
  });

  test('chat and /v1/route agree for keys whose budgets run out, whether the budgets downgrade or refuse', async () => {
    const kinds = Array.from({ length: 4 }, (_, at) => ({ kind: at % 2 === 0 ? 'reject' : 'downgrade' }));
    const keys = await makeKeys(box, kinds);
    const outcomes = new Map<string, number>();
    const count = (outcome: string) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    // The answer uses all allowed output, so that budgets are soon spent.
    upstream.behave(({ body }) => ({
      ...CUT,
      usage: { completion_tokens: Number(body.max_completion_tokens ?? body.max_tokens) },
    }));
    await fc.assert(
      fc.asyncProperty(
        facts,
        fc.nat(keys.length - 1),
        withRetries(async (body, at) => {
          const own = { headers: { authorization: `Bearer ${keys[at]!.key}` } };
          // The test sends the requests one after another, because a running chat holds funds that a parallel recommendation would miss.
          const advice = await adviceOf(await box.post('/v1/route', body, own));
          const answer = await answerOf(await box.post('/v1/chat/completions', body, own));
          if (advice.error) {
            expect(answer.error).toEqual(advice.error);
            return count(advice.error.code);
          }
          expect(answer.model).toBe(advice.recommended_model);
          expect(answer.platform.route_reason).toBe(advice.route_reason);
          expect(answer.platform.credits_consumed).toBeLessThanOrEqual(advice.max_cost_credits);
          const { recommended_model: unlimited } = await adviceOf(await box.post('/v1/route', body));
          count(unlimited === advice.recommended_model ? 'the same as without a budget' : 'downgraded');
        }),
      ),
      {
        ...tries('chat and /v1/route agree for keys whose budgets run out', 20, 800),
        // In every run, keys of both kinds run out of budget.
        examples: [
          ...[0, 1, 0, 1, 0, 1].map((at): [ChatFields, number] => [{ ...DEAREST, messages: hello }, at]),
          [IMPOSSIBLE, 1],
        ],
      },
    );
    upstream.behave(CUT);
    console.log('with budgets:', [...outcomes].map(([outcome, times]) => `${outcome} ${times}`).join(', '));
    for (const outcome of ['the same as without a budget', 'downgraded', 'insufficient_quota', 'no_eligible_model']) {
      expect(outcomes.get(outcome) ?? 0).toBeGreaterThan(0);
    }
  });
});
