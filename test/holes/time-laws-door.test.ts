import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { answerRoutesOf } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { filledPath } from '../../src/http/path-template.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { BODIES as MESSAGES_BODIES } from '../dialects/anthropic-messages/worst-bodies.ts';
import { BODIES as CHAT_BODIES } from '../dialects/openai-chat/worst-bodies.ts';
import { BODIES as RESPONSES_BODIES } from '../dialects/openai-responses/worst-bodies.ts';
import { type Bystander, startBystander } from '../support/bystander.ts';
import { GROWTH_MAX, growthOf, LARGER, leastOf } from '../support/in-time.ts';
import { useSignalbox } from '../support/use.ts';
import { bodiesOf } from './worst/readers.ts';

/**
 * The worst requests of each dialect, sent to a server. Everything that the gateway does with a request must take time in proportion to its
 * size.
 */
const TIMEOUT_MS = 600_000;

const policyOf = (more: string) => `version: 1
providers: { sim: { adapter: simulated } }
models:
  every:
    provider: sim
    price: { input: 0.1, output: 0.4, as_of: 2026-11-20, basis: own }
    context_window: 10000000
    max_output: 8192
    capabilities: [tools, json_mode, json_schema, vision, reasoning]
    latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }
    quality: { default: 0.8, basis: guessed }
  vectors:
    provider: sim
    price: { input: 0.1, output: 0, as_of: 2026-11-20, basis: own }
    context_window: 1000000
    operations: [embed]
    capabilities: [token_input]
    embedding: { dimensions: 64, batch_inputs: 2048 }
    latency: { ttft_ms: 1, output_tokens_per_second: 10000, basis: guessed }
${more}`;

/** Settings that make the gateway read more of a request than its answer needs. */
const READING = 'records: { metadata: [member0], content: { keep: [prompt, answer] } }\n';
const RAISED = 'gateway: { body_bytes_max: 33554432, messages_max: 100000, tools_max: 10000 }\n';

/** An address may have at most 8,192 characters. */
const TOO_LONG = 'openai-chat: an address with many dots';

/** `npm test` takes every third request of each dialect. */
const requests = answerRoutesOf(SURFACES).flatMap((served) => {
  const { surface, route } = served;
  return Object.entries(bodiesOf(served))
    .filter((_, at) => isDeep || at % 3 === 0)
    .map(([what, make]) => {
      const model = route.kind === 'embed' ? 'vectors' : undefined;
      return {
        name: `${surface.name}: ${what}`,
        path: filledPath(route.path, model ?? 'auto'),
        make: (parts: number) => ({ ...make(parts), ...(model && { model }) }),
      };
    });
});

describe('a request that is eight times as large takes the server at most twenty times as long', () => {
  const box = useSignalbox({ policy: policyOf(READING + RAISED) });
  const { runs: partsMax, proved } = effort('holes', 64, 512);
  let worst = 0;

  test.each(requests)(
    '$name',
    async ({ name, path, make }) => {
      const growth = await growthOf(
        (parts) => {
          const body = make(parts);
          return async () => {
            const answer = await box.post(path, body);
            await answer.text();
            expect(answer.status).toBe(name === TOO_LONG && parts > 4_000 ? 400 : 200);
          };
        },
        { leastMs: isDeep ? 8 : 0, partsMax },
      );
      expect(growth).toBeLessThan(GROWTH_MAX);
      worst = Math.max(worst, growth);
    },
    TIMEOUT_MS,
  );

  test('each of the worst requests takes at most twenty times as long if it is eight times as large', () => {
    expect(worst).toBeLessThan(GROWTH_MAX);
    proved(
      `${requests.length} worst requests to a server, of at most ${LARGER * partsMax} parts: a request eight times as large takes at most ${worst.toFixed(1)} times as long`,
    );
  });
});

/** With default settings, a body with more values is refused before it is read. */
describe.each([
  { limits: 'at defaults', more: '', most: 2_000, status: 400 },
  { limits: 'at raised limits', more: RAISED, most: 6_000, status: 200 },
])('$limits', ({ limits, more, most, status: expected }) => {
  const box = useSignalbox({ policy: policyOf(more), isProcess: true });
  const { runs: parts, proved } = effort('holes', 0.75 * most, most);
  let bystander: Bystander;
  beforeAll(() => {
    bystander = startBystander(`${box.url}/healthz`);
  });
  afterAll(() => bystander.stop());

  test.each([
    ['tool results with images', '/v1/messages', MESSAGES_BODIES['results and images in turn']],
    ['calls of as many tools', '/v1/chat/completions', CHAT_BODIES['calls of as many tools']],
    ['calls and as many other tools', '/v1/responses', RESPONSES_BODIES['calls of other tools than are offered']],
  ])(
    'another request can go on while the server reads %s',
    async (what, path, make) => {
      const body = make!(parts);
      let [took, status] = [0, 0];
      const waited = await leastOf(100, async () => {
        await bystander.worstMs();
        const began = performance.now();
        const answer = await box.post(path, body);
        await answer.text();
        [took, status] = [performance.now() - began, answer.status];
        return bystander.worstMs();
      });
      expect(status).toBe(expected);
      expect(waited).toBeLessThan(400);
      proved(
        `${parts} ${what} ${limits} are answered with ${status} in ${took.toFixed(0)} ms; another request waits ${waited.toFixed(0)} ms`,
      );
    },
    TIMEOUT_MS,
  );
});
