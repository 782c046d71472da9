import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import { anyRequest, type StateGenerators } from '../../src/tools/conformance/requests.ts';
import { tries } from '../deep/effort.ts';
import { adviceOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/**
 * The law: chat accepts the form of a body for which `/v1/route` recommends a model, both with the requested selector and with the
 * recommended model's name. Strict fake servers of three vendors and of OpenAI's dialect check the form.
 */
let upstreams: Readonly<Record<'claude' | 'gemini' | 'openai' | 'plain', FakeUpstream>>;
/** Drops every field that may be dropped; `strict` drops none. */
let lax: Signalbox;
let strict: Signalbox;

const CAPABILITIES = [
  [],
  ['tools'],
  ['tools', 'json_schema', 'vision', 'file_input'],
  ['tools', 'json_mode', 'vision', 'audio_input', 'file_input', 'logprobs', 'choices'],
];
const MODELS = {
  'claude-haiku-4-5': { endpoints: ['claude'], quality: 0.8, capabilities: CAPABILITIES[2]! },
  'claude-opus-4-8': { endpoints: ['claude'], quality: 0.95, capabilities: CAPABILITIES[2]! },
  'gemini-3.8-flash': { endpoints: ['gemini'], quality: 0.9, capabilities: CAPABILITIES[3]! },
  'gpt-5.4': {
    endpoints: ['openai'],
    quality: 0.85,
    capabilities: [...CAPABILITIES[2]!, 'reasoning'],
    more: '    temperature: false\n',
  },
  able: { endpoints: ['plain'], quality: 0.3, capabilities: CAPABILITIES[3]! },
  small: { endpoints: ['plain'], quality: 0.2, capabilities: CAPABILITIES[1]!, more: '    lacks: [seed, penalties]\n' },
  mute: { endpoints: ['plain'], quality: 0.1, capabilities: CAPABILITIES[0]! },
};

beforeAll(async () => {
  upstreams = {
    claude: startFakeUpstream({ dialect: 'anthropic', key: UPSTREAM_KEY }),
    gemini: startFakeUpstream({ dialect: 'gemini', key: UPSTREAM_KEY }),
    openai: startFakeUpstream({ key: UPSTREAM_KEY }),
    plain: startFakeUpstream({ key: UPSTREAM_KEY }),
  };
  const { claude, gemini, openai, plain } = upstreams;
  const policy = (more: string) =>
    testPolicy(
      {
        claude: { url: claude.url, adapter: 'anthropic' },
        gemini: { url: gemini.url, adapter: 'gemini' },
        openai: { url: openai.url, adapter: 'openai' },
        plain: plain.url,
      },
      MODELS,
      `gateway: { retries_max: 0${more} }\n`,
    ).replaceAll('-upstream', '');
  const all = '[presence_penalty, frequency_penalty, logit_bias, logprobs, seed, parallel_tool_calls]';
  [lax, strict] = await Promise.all([
    startSignalbox({ policy: policy(`, drop_unsupported: ${all}`), env: UPSTREAM_ENV }),
    startSignalbox({ policy: policy(''), env: UPSTREAM_ENV }),
  ]);
});
afterAll(async () => {
  await Promise.all([lax, strict].map((box) => box.stop()));
  await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
});

const SETTINGS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  presence_penalty: fc.constantFrom(0, 1),
  frequency_penalty: fc.constantFrom(0, -1),
  logit_bias: fc.constantFrom({}, { '50256': -100 }),
  logprobs: fc.boolean(),
  seed: fc.constant(7),
  parallel_tool_calls: fc.boolean(),
};

/** A caller who names a model is responsible for signatures that the model did not write. */
const NO_STATE: StateGenerators = { ofMessage: fc.constant({}), ofCall: () => ({}) };

/** OpenAI gets unknown efforts unchanged, and refuses them. */
const isKnownEffort = ({ reasoning_effort: effort }: ChatRequest): boolean => !['often', ''].includes(effort ?? 'none');

const bodies = fc
  .record({
    body: anyRequest(NO_STATE).filter(isKnownEffort),
    settings: fc.record(SETTINGS, { requiredKeys: [] }),
    model: fc.oneof({ weight: 3, arbitrary: fc.constant('auto') }, fc.constantFrom(...Object.keys(MODELS))),
  })
  .map(({ body, settings, model }): ChatRequest => ({ ...body, ...settings, model }));

/** Part of every run: Anthropic refuses blank stop sequences, and an empty one has no effect. */
const BLANK_STOP: ChatRequest = { model: 'auto', messages: [{ role: 'user', content: 'Hi' }], stop: '' };

let recommended = 0;

/**
 * Requests a recommendation from a server, and sends the chat to another server. The adviser and the server are the same, except when the
 * law is expected to fail.
 */
const law = (adviser: Signalbox, server = adviser, asRead = (body: ChatRequest): object => body) =>
  fc.asyncProperty(bodies, async (body) => {
    const routed = await adviser.post('/v1/route', asRead(body));
    const { recommended_model: named } = await adviceOf(routed);
    if (routed.status !== 200) return;
    recommended++;
    for (const model of new Set([body.model, named])) {
      const response = await server.post('/v1/chat/completions', { ...body, model });
      const text = await response.text();
      if (response.status !== 200) expect(`${model}: ${response.status} ${text}`).toBe(`${model}: 200`);
    }
  });

describe('chat accepts the form of every body for which /v1/route recommends a model', () => {
  test.each<[string, () => Signalbox]>([
    ['as shipped', () => strict],
    ['with `drop_unsupported`', () => lax],
  ])('%s', async (name, box) => {
    recommended = 0;
    const how = tries(`chat accepts the form of every body for which /v1/route recommends a model, ${name}`, 10, 1_000);
    await fc.assert(law(box()), { ...how, examples: [[BLANK_STOP]] });
    console.log(`${name}: ${how.numRuns} runs, seed ${how.seed}, ${recommended} recommended`);
    expect(recommended).toBeGreaterThan(how.numRuns / 5);
  });

  test.each<[string, () => ReturnType<typeof law>]>([
    ['dropped fields that chat does not drop', () => law(lax, strict)],
    [
      'ignored the settings',
      () =>
        law(strict, strict, (body) =>
          Object.fromEntries(Object.entries(body).filter(([field]) => !Object.hasOwn(SETTINGS, field))),
        ),
    ],
    [
      'ignored the conversation',
      () => law(strict, strict, (body) => ({ ...body, messages: [{ role: 'user', content: 'Hi' }] })),
    ],
  ])('the law fails if /v1/route %s', async (_, mutant) => {
    const { failed } = await fc.check(mutant(), { numRuns: 400, endOnFailure: true, seed: 1 });
    expect(failed).toBe(true);
  });
});
