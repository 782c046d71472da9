import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { answerHere } from '../../../src/gateway/request/own-answer.ts';
import { NO_STEPS, type Step } from '../../../src/gateway/request/steps.ts';
import { tries } from '../../deep/effort.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { CACHE_HEADER } from './support.ts';

/**
 * The law: with a cache, each answer has the same text as without one, and an answer that is no hit has the same model, reason, charge and
 * usage. A hit costs nothing, and names the model that gave the answer. The ledger has the sum of the charges that callers were shown.
 */
const upstream = useUpstream({
  // The answer depends on everything that a request may state about it.
  behaviour: ({ body }) => ({
    text: `answer ${Bun.hash.xxHash32(JSON.stringify({ ...body, stream: false, stream_options: 0 }))}`,
  }),
});

const policy = (more: string) =>
  testPolicy(
    { fake: upstream.url },
    {
      best: { endpoints: ['fake'], price: { input: 4, output: 16 }, quality: 0.9 },
      plain: { endpoints: ['fake'], price: { input: 1, output: 2 }, quality: 0.6 },
    },
    `constraints:
  - { name: cheap-is-plain, when: 'key.labels.tier == "cheap" || request.metadata.tier == "cheap"', require: 'model.id == "plain"' }
${more}`,
  );

/** A cache that takes requests with the same last message for equal. */
function carelessCache(): Step {
  const texts = new Map<string, string>();
  const tariff = { model: 'best', provider: 'signalbox', upstream: 'careless', price: '{}' };
  return (served, next) => {
    const { request } = served.prepared;
    const question = JSON.stringify(request.conversation.turns.at(-1)?.parts);
    const text = texts.get(question);
    texts.set(question, text ?? 'remembered');
    if (text === undefined) return next(served);
    const parts = [
      { type: 'text', choice: 0, text },
      { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
    ] as const;
    return answerHere(served, { reason: 'careless', model: 'best', parts, usage: plainUsage(1, 1), price: 0, tariff });
  };
}

const requests = fc.array(
  fc.record({
    sender: fc.constantFrom('usual', 'cheap'),
    question: fc.constantFrom('Hello', 'Bye'),
    model: fc.constantFrom('auto', 'best'),
    system: fc.constantFrom(null, 'Be brief.'),
    more: fc.constantFrom(
      {},
      { max_tokens: 40 },
      { seed: 7, temperature: 1 },
      { temperature: 1 },
      { metadata: { tier: 'cheap' } },
    ),
    isStream: fc.boolean(),
  }),
  { minLength: 2, maxLength: 8 },
);
type Requests = typeof requests extends fc.Arbitrary<infer T> ? T : never;

interface World {
  readonly box: Signalbox;
  readonly keys: Readonly<Record<string, string>>;
}

async function worldOf(more: string, step: Step | null = null): Promise<World> {
  const steps = step && (() => ({ ...NO_STEPS, beforeDecision: [step] }));
  const box = await startSignalbox({ policy: policy(more), env: UPSTREAM_ENV, ...(steps && { steps }) });
  return { box, keys: { usual: await box.makeKey(), cheap: await box.makeKey('--label', 'tier=cheap') } };
}

interface Shown {
  readonly status: number;
  readonly text: string;
  readonly platform: Readonly<Record<string, unknown>>;
  readonly usage: unknown;
  readonly isHit: boolean;
}

const salt = { now: 0 };

async function send(
  { box, keys }: World,
  { sender, question, model, system, more, isStream }: Requests[number],
  nth: number,
): Promise<Shown> {
  const turns = [
    ...(system ? [{ role: 'system', content: system }] : []),
    { role: 'user', content: `${question} ${nth}` },
  ];
  const body = { model, temperature: 0, messages: turns, ...more, ...(isStream && { stream: true }) };
  const response = await box.post('/v1/chat/completions', body, {
    headers: { authorization: `Bearer ${keys[sender]}` },
  });
  const text = await response.text();
  const isHit = response.headers.get(CACHE_HEADER) === 'hit';
  const bodies = isStream
    ? text.split('\n\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    : [JSON.parse(text)];
  const shown = bodies
    .map((one) => one.choices?.[0]?.delta?.content ?? one.choices?.[0]?.message?.content ?? '')
    .join('');
  const last = bodies.findLast((one) => one.platform) ?? {};
  return { status: response.status, text: shown, platform: last.platform ?? {}, usage: last.usage, isHit };
}

/** Returns what the ledger charged the keys of a server, in Credits. */
async function spentBy({ box, keys }: World): Promise<number> {
  const usages = Object.values(keys).map(async (key) => {
    const response = await box.get('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    return Number(Object(await response.json()).total_credits);
  });
  return (await Promise.all(usages)).reduce((sum, one) => sum + one, 0);
}

const counts = { hits: 0, misses: 0, credits: 0 };

/** Whether two servers give the same answers to the same requests. */
async function agree(plain: World, cached: World, sent: Requests): Promise<boolean> {
  const nth = ++salt.now;
  for (const request of [...sent, ...sent]) {
    const [one, other] = [await send(plain, request, nth), await send(cached, request, nth)];
    if (one.isHit || one.status !== other.status || one.text !== other.text) return false;
    if (one.platform.routed_model !== other.platform.routed_model) return false;
    if (!Bun.deepEquals(one.usage, other.usage)) return false;
    const { route_reason: reason, credits_consumed: credits } = other.platform;
    counts[other.isHit ? 'hits' : 'misses']++;
    counts.credits += Number(credits ?? 0);
    const isStated = other.isHit
      ? reason === 'cache:exact' && credits === 0
      : reason === one.platform.route_reason && credits === one.platform.credits_consumed;
    if (!isStated) return false;
    // An answer is stored some milliseconds after its end.
    await Bun.sleep(5);
  }
  return true;
}

let plain: World;
let cached: World;
let careless: World;
beforeAll(async () => {
  plain = await worldOf('');
  cached = await worldOf('cache: {}\n');
  careless = await worldOf('', carelessCache());
});
afterAll(() => Promise.all([plain, cached, careless].map(({ box }) => box.stop())));

test('a cache changes no answer, no decision and no charge, except that hits are free', async () => {
  await fc.assert(
    fc.asyncProperty(requests, (sent) => agree(plain, cached, sent)),
    tries('transparent cache', 6, 200),
  );
  expect(counts.hits).toBeGreaterThan(10);
  expect(counts.misses).toBeGreaterThan(20);
  expect(await cached.box.run('ledger', 'audit')).toMatchObject({ code: 0 });
  expect(await spentBy(cached)).toBeCloseTo(counts.credits, 6);
  expect(await spentBy(plain)).toBeGreaterThan(counts.credits);
});

test('the law finds a cache that compares only the last message', async () => {
  const found = await fc.check(
    fc.asyncProperty(requests, (sent) => agree(plain, careless, sent)),
    tries('careless cache', 12, 50),
  );
  expect(found.failed).toBeTrue();
});
