import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { type AdviceAnswer, type Answer, adviceOf, answerOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';

/** Two policies that choose and refuse differently. */
const POLICIES = ['first', 'second'] as const;
/**
 * Makes all questions equally long, because measured lengths of other questions could change a close choice between the two requests.
 * @param text of at most as many tokens
 */
const ofOneLength = (text: string): string => {
  const tokens = text.match(/[\p{L}\p{M}]+|\p{Nd}+|\S/gu)?.length ?? 0;
  return text + ' .'.repeat(TOKENS - tokens);
};
const TOKENS = 14;
let upstream: FakeUpstream;
let live: LivePolicy;
let policies: Readonly<Record<(typeof POLICIES)[number], string>>;

beforeAll(async () => {
  // Truncated answers are not measured, so that expected lengths stay the same.
  upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: { text: ['well'], finish: 'length' } });
  const endpoints = ['up'];
  const up = { up: upstream.url };
  policies = {
    first: testPolicy(up, {
      best: { endpoints, price: { input: 5, output: 20 }, quality: 0.95 },
      good: { endpoints, price: { input: 1, output: 4 }, quality: 0.85 },
      cheap: { endpoints, price: { input: 0.05, output: 0.2 }, quality: 0.7 },
    }),
    second: testPolicy(
      up,
      {
        best: { endpoints, price: { input: 9, output: 36 }, quality: 0.86 },
        good: { endpoints, price: { input: 1, output: 4 }, quality: 0.9 },
        newer: { endpoints, price: { input: 0.5, output: 2 }, quality: 0.88 },
      },
      `constraints:
  - { name: code-stays-small, when: 'request.task == "coding"', require: model.price.output < 10.0 }
  - { name: nothing-for-the-terse, when: 'request.natural_language == "und"', require: 'model.id == "best"' }
`,
    ),
  };
  // On a clock that stands still, no speed is measured, so that expected times stay the same, too. Deadlines compare it with the real one.
  const started = performance.now();
  live = await startLivePolicy({ 'policy.yaml': policies.first }, { clock: () => started });
});

afterAll(async () => {
  await live.stop();
  await upstream.stop();
});

const words = fc.constantFrom(
  'Hello!',
  'Write a function in Python that sorts a list',
  'Résume ce texte en une phrase : il pleut.',
  '2x + 3 = 9',
  '7',
);
const body: fc.Arbitrary<object> = fc.record(
  {
    model: fc.constantFrom('auto', 'auto-fast', 'auto-cheap', 'best', 'cheap', 'newer'),
    messages: words.map((content) => [{ role: 'user', content: ofOneLength(content) }]),
    constraints: fc.record(
      {
        max_cost_credits: fc.constantFrom(0.05, 1.7, 10),
        max_latency_ms: fc.constantFrom(90, 60_000),
        required_languages: fc.constantFrom([], ['py'], ['rust']),
      },
      { requiredKeys: [] },
    ),
    route_strategy: fc.record({ cost_weight: fc.constantFrom(0, 0.5, 3) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['model', 'messages'] },
);

/** Part of every run: both refusals, one of them for a model that the second policy lacks, and choices. */
const messages = [{ role: 'user', content: ofOneLength('Hello!') }];
const ALWAYS = [
  { model: 'cheap', messages },
  { model: 'auto', messages, constraints: { max_latency_ms: 1 } },
  { model: 'auto', messages },
  { model: 'best', messages },
];

/** Activates a policy and returns its revision. */
async function inForce(name: keyof typeof policies): Promise<string> {
  live.replace('policy.yaml', policies[name]);
  await live.reload();
  return (await live.status()).revision;
}

const route = async (facts: object): Promise<AdviceAnswer> => adviceOf(await live.box.post('/v1/route', facts));
const chat = async (facts: object): Promise<Answer> => answerOf(await live.box.post('/v1/chat/completions', facts));

/** Returns the choice, or the whole error. */
const outcomeOf = (advice: AdviceAnswer) => advice.error ?? `${advice.recommended_model} by ${advice.route_reason}`;
const done = ({ error, platform }: Answer) => error ?? `${platform.routed_model} by ${platform.route_reason}`;

const seen = new Map<string, number>();
const count = (outcome: string) => void seen.set(outcome, (seen.get(outcome) ?? 0) + 1);

test('after a reload, chat chooses or refuses exactly as /v1/route did under the same revision', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(body, { minLength: 4, maxLength: 8 }), async (requests) => {
      const before = await inForce('first');
      const first = await Promise.all(requests.map(route));
      const after = await inForce('second');
      const second = await Promise.all(requests.map(route));
      const recommended = new Map([
        [before, first.map(outcomeOf)],
        [after, second.map(outcomeOf)],
      ]);
      expect(recommended.size).toBe(2);
      // Recommendations are of the second revision. The first revision becomes active again while chats are in progress.
      const reload = inForce('first');
      const answers = await Promise.all(requests.map(chat));
      await reload;
      answers.forEach((answer, at) => {
        const options = answer.error ? [...recommended.values()] : [recommended.get(answer.platform.policy_revision)!];
        expect(options.map((list) => list[at])).toContainEqual(done(answer));
        const revision = answer.error ? null : answer.platform.policy_revision;
        count(answer.error?.code ?? (revision === after ? 'under the second' : 'under the first'));
      });
      // After the reload has returned, no request is decided under the old revision.
      const later = await Promise.all(requests.map(chat));
      expect(later.map(done)).toEqual(first.map(outcomeOf));
      for (const { error } of later) if (!error) count('under the first');
    }),
    {
      ...tries('across reloads, chat chooses or refuses exactly as /v1/route did under the same revision', 4, 40),
      examples: [[ALWAYS]],
    },
  );
  console.log('across reloads:', [...seen].map(([outcome, times]) => `${outcome} ${times}`).join(', '));
  const outcomes = ['model_not_found', 'no_eligible_model', 'under the first', 'under the second'];
  expect([...seen.keys()].sort()).toEqual(outcomes);
});
