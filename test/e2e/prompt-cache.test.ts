import { describe, expect, test } from 'bun:test';
import {
  type AnswerContent,
  type CallerSurface,
  hasTools,
  isServedBy,
  requestIn,
  SURFACES,
} from '../fault/surfaces.ts';
import type { DialectName } from '../support/dialects/index.ts';
import type { Behaviour, FakeUpstream, RecordedRequest } from '../support/fake-upstream.ts';
import { type ModelOptions, testPolicy, withCompletions } from '../support/policies.ts';
import { PromptCache, type PromptUsage } from '../support/prompt-cache.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Repeated prompts go to the endpoint whose cache has them, in every combination of the caller's and the model's dialects. */
const PRICE = { input: 4, cached: 0.4, written: 5, output: 16 };
const OUTPUT = 2;
const ANSWER = { text: 'Aye.' } satisfies Behaviour;

/** Models, with the dialect of both of their endpoints. */
const MODELS: readonly { readonly id: string; readonly adapter: string; readonly dialect: DialectName }[] = [
  { id: 'chats', adapter: 'openai-compatible', dialect: 'openai' },
  { id: 'responds', adapter: 'openai', dialect: 'openai' },
  { id: 'claude', adapter: 'anthropic', dialect: 'anthropic' },
  { id: 'gemini', adapter: 'gemini', dialect: 'gemini' },
];

interface Service {
  readonly upstream: FakeUpstream;
  /** The usage of each request, in their order. */
  readonly usages: PromptUsage[];
  answer(request: RecordedRequest): Behaviour;
}

/** An upstream with its own cache. A request that goes to the other upstream finds nothing in it. */
function cachingService(dialect: DialectName): Service {
  const cache = new PromptCache();
  const usages: PromptUsage[] = [];
  const answer = (request: RecordedRequest): Behaviour => {
    const usage = cache.usageOf(request);
    usages.push(usage);
    return { ...ANSWER, usage: { ...usage, completion_tokens: OUTPUT } };
  };
  return { upstream: useUpstream({ dialect, behaviour: answer }), usages, answer };
}

const served = MODELS.map(({ id, adapter, dialect }) => ({
  id,
  adapter,
  services: [cachingService(dialect), cachingService(dialect)] as const,
}));
type Served = (typeof served)[number];

const box = useSignalbox(() => {
  const upstreams = served.flatMap(({ id, adapter, services }) =>
    services.map(({ upstream }, at) => [`${id}-${at}`, { url: upstream.url, adapter }] as const),
  );
  const models = served.map(({ id }): [string, ModelOptions] => [
    id,
    { endpoints: [`${id}-0`, `${id}-1`], price: PRICE, quality: 0.9 },
  ]);
  const policy = testPolicy(Object.fromEntries(upstreams), Object.fromEntries(models))
    .replaceAll('input: 4,', `input: 4, cached_input: ${PRICE.cached},`)
    // Only Anthropic bills cache writes.
    .replace(/( {2}claude:\n.*\n.*input: 4,)/, `$1 cache_write: ${PRICE.written},`)
    .replaceAll('passthrough: [verbosity]', 'cache_ttl_s: 60, cache_min_tokens: 500');
  return { policy: withCompletions(policy) };
});

interface Way {
  readonly surface: CallerSurface;
  readonly isStream: boolean;
}

/** A long prompt that no other test sends. */
const bodyFor = ({ surface, isStream }: Way, model: string, topic: string) =>
  requestIn(surface, model, isStream, {
    ...surface.body(
      20,
      hasTools(surface) ? 'look_up' : null,
      `${topic}. ${'You know the tides of the sea. '.repeat(170)}`,
    ),
    // Claude Code and users of the SDK mark their requests like this; translated requests are marked by the adapter.
    ...(surface.name === 'messages' && { cache_control: { type: 'ephemeral' } }),
  });

async function ask({ surface, isStream }: Way, { path, body }: ReturnType<typeof bodyFor>): Promise<AnswerContent> {
  const response = await box.post(path, body);
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return isStream ? surface.streamed(text) : surface.content(JSON.parse(text));
}

/** Returns the tokens that the decision expected in the cache of the model. */
async function expectedCached({ platform }: AnswerContent, model: string): Promise<number> {
  const record = await (await box.get(`/v1/decisions/${platform!.decision_id}`)).json();
  return Object(record).facts.cached_input_tokens[model] ?? 0;
}

/** Returns the charge in Credits for a usage that a provider reported. */
function chargeOf({ prompt_tokens: all, prompt_tokens_details: { cached_tokens, cache_write_tokens } }: PromptUsage) {
  const plain = all - cached_tokens - cache_write_tokens;
  const { input, cached, written, output } = PRICE;
  return (input * plain + cached * cached_tokens + written * cache_write_tokens + output * OUTPUT) / 1_000;
}

const FORMS: readonly Way[] = SURFACES.flatMap((surface) => [
  { surface, isStream: false },
  { surface, isStream: true },
]);
const titleOf = ({ surface, isStream }: Way, { id }: Served) =>
  `${surface.name} of ${id}, ${isStream ? 'events' : 'JSON'}`;

describe('of three identical long requests, the second and third read the cache, at its price', () => {
  for (const way of FORMS) {
    for (const model of served.filter(({ adapter }) => isServedBy(way.surface, adapter))) {
      test(titleOf(way, model), async () => {
        const [{ usages }, { usages: elsewhere }] = [...model.services];
        const before = [usages.length, elsewhere.length] as const;
        const body = bodyFor(way, model.id, titleOf(way, model));
        const answers: AnswerContent[] = [];
        for (let nth = 0; nth < 3; nth++) answers.push(await ask(way, body));
        // All requests went to one endpoint, because the caches of two endpoints are separate.
        expect([usages.length - before[0], elsewhere.length - before[1]]).toEqual([3, 0]);
        const told = usages.slice(-3);
        const [first, ...others] = told.map(({ prompt_tokens_details: { cached_tokens } }) => cached_tokens);
        expect(first).toBeLessThan(200);
        for (const cached of others) expect(cached).toBeGreaterThan(1_000);
        const charges = answers.map(({ platform }) => platform!.credits_consumed);
        expect(charges).toEqual(told.map((usage) => expect.closeTo(chargeOf(usage), 6)));
        expect(charges[1]!).toBeLessThan(charges[0]! / 2);
        const [cold, ...warm] = await Promise.all(answers.map((answer) => expectedCached(answer, model.id)));
        expect(cold).toBe(0);
        for (const tokens of warm) expect(tokens).toBeGreaterThan(1_000);
      });
    }
  }
});

test('the next turn of a conversation reads what its earlier turns have written to the cache', async () => {
  for (const model of served) {
    const way: Way = { surface: SURFACES[0]!, isStream: false };
    const [{ usages }] = model.services;
    const first = bodyFor(way, model.id, `A conversation with ${model.id}`);
    const body = first.body as { messages: object[] };
    await ask(way, first);
    const messages = [
      ...body.messages,
      { role: 'assistant', content: 'Aye.' },
      { role: 'user', content: 'And at new moon?' },
    ];
    const answer = await ask(way, { ...first, body: { ...body, messages } });
    expect(usages.at(-1)!.prompt_tokens_details.cached_tokens).toBeGreaterThan(1_000);
    expect(answer.platform!.credits_consumed).toBeCloseTo(chargeOf(usages.at(-1)!), 6);
  }
});

test('after a failure of the first endpoint, estimates assume no cached tokens at that endpoint', async () => {
  for (const model of served) {
    const way: Way = { surface: SURFACES[0]!, isStream: false };
    const [{ upstream, usages }, { usages: elsewhere }] = [...model.services];
    const body = bodyFor(way, model.id, `A failure of ${model.id}`);
    upstream.next({ fail: 'server' });
    const before = [usages.length, elsewhere.length] as const;
    await ask(way, body);
    const second = await ask(way, body);
    const third = await ask(way, body);
    // Endpoints are tried in the policy's order.
    expect([usages.length - before[0], elsewhere.length - before[1]]).toEqual([2, 1]);
    expect(await expectedCached(second, model.id)).toBe(0);
    expect(await expectedCached(third, model.id)).toBeGreaterThan(1_000);
    const [cold, warm] = usages.slice(-2).map(({ prompt_tokens_details: { cached_tokens } }) => cached_tokens);
    expect([cold! < 200, warm! > 1_000]).toEqual([true, true]);
  }
});
