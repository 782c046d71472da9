import { afterAll, beforeAll, expect, test } from 'bun:test';
import { effort } from '../../deep/effort.ts';
import type { OpenAiRequest } from '../../support/openai-wire.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { closedBooks } from './books.ts';
import { send } from './flood.ts';
import { capOf, type Gate, type GateAnswers, startGate } from './gate.ts';

/** Tests the laws of bounds.test.ts again, with a whole server between the request and the upstream. */
const answers: GateAnswers = { usageOf: () => ({}) };
let gate: Gate;
let box: Signalbox;

const IMAGE_MAX = 300;
const policyOf = (url: string) => `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  up: { adapter: openai-compatible, base_url: "${url}", api_key_env: TEST_UPSTREAM_KEY }
tasks:
  general: { expected_output_tokens: 100, default_input_tokens: 100, min_useful_output: 8 }
models:
  tiered:
    endpoints: [{ provider: up, price: { input: 0.7, cache_write: 3, output: 2, per_request: 0.00002 } }, { provider: up }]
    price:
      input: 1
      cached_input: 0.1
      cache_write: 1.25
      output: 4
      tiers:
        - { over_input_tokens: 60, input: 2, cached_input: 2.2, output: 6 }
        - { over_input_tokens: 200, input: 2.5, cache_write: 4, output: 9 }
    ${figures(0.9)}
  cachey:
    provider: up
    price: { input: 0.3, cached_input: 0.9, cache_write: 2.5, output: 1, per_request: 0.00001 }
    ${figures(0.8)}
  fine:
    provider: up
    price: { input: 0.003, cached_input: 0.001, output: 0.007 }
    ${figures(0.4)}
`;
const figures = (quality: number) => `context_window: 32768
    max_output: 600
    default_max_output: 200
    capabilities: [vision, choices]
    image_tokens_max: ${IMAGE_MAX}
    latency: { ttft_ms: 100, output_tokens_per_second: 100, basis: guessed }
    quality: { default: ${quality}, basis: guessed }`;

beforeAll(async () => {
  gate = startGate(answers);
  gate.open();
  box = await startSignalbox({ policy: policyOf(gate.url), env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await gate.stop();
});

/** Returns the most tokens of a prompt, from the request as it came over the wire. */
function promptMax({ messages }: OpenAiRequest): number {
  if (!Array.isArray(messages)) throw new Error('no messages');
  let tokens = 16;
  for (const { content } of messages) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    tokens += 16;
    for (const part of parts) tokens += part.type === 'text' ? Buffer.byteLength(part.text) : IMAGE_MAX;
  }
  return tokens;
}

const choicesOf = ({ n }: OpenAiRequest): number => (typeof n === 'number' ? n : 1);
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

test('through the server, usage within the bound never exceeds the hold, and no other usage exceeds a limit', async () => {
  const { random, runs, proved } = effort('overspend', 15, 20_000);
  const below = (n: number) => Math.floor(random() * n);
  const upTo = (n: number) => (random() < 0.4 ? n : below(n + 1));
  const reportOf =
    (beyond: number): GateAnswers['usageOf'] =>
    (request) => {
      const prompt = upTo(promptMax(request)) * beyond;
      const cached = upTo(prompt);
      const completion = upTo(capOf(request) * choicesOf(request)) * beyond;
      return {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: upTo(prompt - cached) },
      };
    };
  answers.fails = () => random() < 0.15;
  const statuses = new Map<number, number>();
  for (const beyond of [1, 5]) {
    answers.usageOf = reportOf(beyond);
    for (let run = 0; run < runs; run++) {
      const limit = random() < 0.6 ? Math.ceil(random() ** 3 * 4_000_000) / 1e6 : undefined;
      const words = ['Hello ', 'Grüße, ', '你好，', '🙂 '][below(4)]!.repeat(1 + below(20));
      const before = gate.requests.length;
      const answer = await send(box.url, box.key, {
        model: ['auto', 'auto-cheap', 'tiered', 'cachey', 'fine'][below(5)],
        messages: [{ role: 'user', content: random() < 0.3 ? [{ type: 'text', text: words }, image] : words }],
        stream: random() < 0.4,
        n: random() < 0.2 ? 3 : 1,
        ...(random() < 0.7 && { max_tokens: 1 + below(400) }),
        ...(limit !== undefined && { budget_limit: limit }),
      });
      const { status, body, headers } = answer!;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      expect(status === 200 || status === 502 || status === 400).toBeTrue();
      const credits = body.platform?.credits_consumed ?? Number(headers.get('x-signalbox-credits') ?? 0);
      expect(credits).toBeLessThanOrEqual(limit ?? credits);
      // A request that is refused because of its limit never reaches an upstream.
      if (status === 400) expect([body.error?.code, gate.requests.length]).toEqual(['budget_limit_too_low', before]);
    }
    const { faults, entries } = await closedBooks(box.data);
    expect(faults).toEqual([]);
    expect(entries.some(({ kind }) => kind === 'overrun')).toBe(beyond > 1);
  }
  console.log('through the server:', JSON.stringify([...statuses]));
  for (const status of [200, 400]) expect(statuses.get(status) ?? 0).toBeGreaterThan(runs / 20);
  proved('the same through the server: no overrun within the bound, no request above its budget_limit');
}, 3_600_000);
