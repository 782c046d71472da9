import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { utf8Bytes } from '../../src/core/request/tokens.ts';
import { tries } from '../deep/effort.ts';
import { closedBooks } from '../gateway/money/books.ts';
import { type VectorsAnswer, waitFor } from '../support/answers.ts';
import { anyCodePoint } from '../support/any-code-point.ts';
import { useEmbeddings, vectorFor } from '../support/embedding-upstream.ts';
import { useSignalbox } from '../support/use.ts';

/**
 * The law: embeddings never overspend a budget, with any texts, batches, failures in the middle, disconnecting callers and parallel
 * requests. The upstream counts a token for each byte, which is the most that the hold allows for. 1 Credit pays for 1,000 tokens.
 */
const service = useEmbeddings('openai');
service.tokensOf = utf8Bytes;
service.dimensions = 4;
const LIMIT = 0.4;

const model = (id: string, more: string): string => `  ${id}:
    endpoints: [{ provider: up, upstream: ${id}-1 }]
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 500
    operations: [embed]
    embedding: { dimensions: 4, vector_space: s, ${more} }
    latency: { ttft_ms: 100, output_tokens_per_second: 1000, basis: guessed }
`;
const box = useSignalbox(() => ({
  policy: `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  up: { adapter: openai-compatible, base_url: "${service.url}", api_key_env: TEST_UPSTREAM_KEY }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
${model('one', 'batch_inputs: 1')}${model('two', 'batch_inputs: 2')}${model('narrow', 'batch_inputs: 9, batch_tokens: 40')}
selectors:
  search: { strategy: auto, vector_space: s }
gateway: { retries_max: 1 }
ledger: { contention_wait_ms: 0 }
budgets:
  - { name: thin, match: 'key.labels.team == "thin"', each: key.id, window: month, limit_credits: ${LIMIT} }
`,
}));

const texts = fc.array(fc.string({ unit: anyCodePoint, minLength: 1, maxLength: 24 }), { minLength: 1, maxLength: 12 });
/** The result of a call: vectors, a failure, or an answer that is billed but useless. */
const fates = fc.array(fc.constantFrom('vectors', 'vectors', 'vectors', 'down', 'short'), { maxLength: 24 });
const requests = fc.array(
  fc.record({
    model: fc.constantFrom('one', 'two', 'narrow', 'search'),
    input: texts,
    leavesAfterMs: fc.constantFrom(null, null, null, 1, 3, 8, 20),
  }),
  { minLength: 1, maxLength: 8 },
);
const worlds = fc.record({ requests, fates, delaysMs: fc.array(fc.nat(6), { minLength: 1, maxLength: 5 }) });
type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never;

const counts = { answered: 0, refused: 0, failed: 0, left: 0 };
afterAll(() => console.log('embeddings:', JSON.stringify(counts)));

const answerOf = (fate: string): Response | null => {
  if (fate === 'down') return Response.json({ error: { message: 'down' } }, { status: 503 });
  return fate === 'short' ? Response.json({ data: [], usage: { prompt_tokens: 1, total_tokens: 1 } }) : null;
};

const keyOf = (flags: readonly string[]): Promise<string> => box.makeKey('--scope', 'embed', ...flags);

/**
 * Plays a series of requests with a key. Returns what the key has spent, and the cost of the tokens of its complete answers, in Credits.
 */
async function play({ requests: all, fates: script, delaysMs }: World, key: string) {
  service.received.length = 0;
  service.next.splice(0, service.next.length, ...script.map(answerOf));
  service.delayMs = (nth) => delaysMs[nth % delaysMs.length]!;
  const headers = { authorization: `Bearer ${key}` };
  let worth = 0;
  const one = async ({ model: name, input, leavesAfterMs }: World['requests'][number]): Promise<void> => {
    const signal = leavesAfterMs === null ? null : AbortSignal.timeout(leavesAfterMs);
    try {
      const response = await box.post('/v1/embeddings', { model: name, input }, { headers, signal });
      const body = (await response.json()) as VectorsAnswer;
      if (response.status !== 200) {
        counts[response.status === 402 || response.status === 429 ? 'refused' : 'failed']++;
        return;
      }
      counts.answered++;
      expect(body.data.map(({ embedding }) => embedding)).toEqual(input.map((text) => vectorFor(text, 4)));
      const own = input.reduce((sum, text) => sum + utf8Bytes(text), 0) / 1_000;
      // Failed attempts may have been charged, too.
      expect(body.platform.credits_consumed).toBeGreaterThanOrEqual(own - 1e-9);
      worth += own;
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      counts.left++;
    }
  };
  await Promise.all(all.map(one));
  return { spent: await spentBy(key), worth };
}

/** Returns what a key has spent, in Credits, once all requests have ended. The request of a caller who disconnected ends later. */
async function spentBy(key: string): Promise<number> {
  const { total_credits: spent } = await waitFor(async () => {
    const answer = await box.get('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    const usage = (await answer.json()) as UsageAnswer;
    return usage.funds.every(({ open_reservations: open }) => open === 0) ? usage : null;
  });
  return spent;
}

interface UsageAnswer {
  readonly total_credits: number;
  readonly funds: readonly { readonly open_reservations: number }[];
}

test('the first batch is sent alone, then at most four batches at a time', async () => {
  const key = await keyOf([]);
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  service.delayMs = () => {
    most = Math.max(most, ++running);
    begun.push(running);
    setTimeout(() => running--, 30);
    return 40;
  };
  const input = Array.from({ length: 10 }, (_, at) => `text ${at}`);
  const response = await box.post(
    '/v1/embeddings',
    { model: 'one', input },
    { headers: { authorization: `Bearer ${key}` } },
  );
  const { data } = (await response.json()) as VectorsAnswer;
  expect(data.map(({ embedding }) => embedding)).toEqual(input.map((text) => vectorFor(text, 4)));
  expect([begun.slice(0, 2), most]).toEqual([[1, 1], 4]);
});

test('after a failure, running batches are read and charged, and no further batch is sent', async () => {
  const key = await keyOf([]);
  const input = Array.from({ length: 10 }, (_, at) => `text ${at}`);
  // The first batch succeeds. Of the next four, the second fails at once.
  service.next.push(null, null, answerOf('down'));
  service.received.length = 0;
  service.delayMs = (nth) => (nth === 3 ? 0 : 40);
  const response = await box.post(
    '/v1/embeddings',
    { model: 'one', input },
    { headers: { authorization: `Bearer ${key}` } },
  );
  const { platform } = (await response.json()) as VectorsAnswer;
  const calls = service.received.map(({ texts: [text] }) => text);
  // If the first attempt fails, the second attempt sends all inputs again.
  expect(calls.slice(0, 5).toSorted()).toEqual(input.slice(0, 5));
  expect(calls.slice(5).toSorted()).toEqual(input);
  expect(platform.attempts.map(({ failure }) => failure)).toEqual(['overloaded', null]);
  expect(platform.credits_consumed).toBeCloseTo((6 * 4 + 6 * 10) / 1_000, 6);
});

test('a caller who disconnects pays for the running batches, and not for batches that were not sent', async () => {
  const key = await keyOf(['--label', 'team=thin']);
  const input = Array.from({ length: 30 }, (_, at) => `text ${at % 10}`);
  service.received.length = 0;
  service.delayMs = (nth) => (nth === 1 ? 0 : 2_000);
  const signal = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const left = box.post('/v1/embeddings', { model: 'one', input }, { headers, signal: signal.signal });
  await waitFor(() => service.received.length === 5);
  signal.abort();
  await expect(left).rejects.toThrow();
  // Six bytes of the first batch, and about two tokens of each of the four batches.
  const spent = await spentBy(key);
  expect(spent).toBeGreaterThan(0.006);
  expect(spent).toBeLessThan(0.006 * 5);
});

test('batches never overspend a budget, and every complete answer is charged', async () => {
  const law = fc.asyncProperty(worlds, async (world) => {
    const { spent, worth } = await play(world, await keyOf(['--label', 'team=thin']));
    expect(spent).toBeLessThanOrEqual(LIMIT);
    expect(spent).toBeGreaterThanOrEqual(worth - 1e-9);
  });
  await fc.assert(law, tries('a budget is never overspent by embeddings in batches', 8, 400));
  const { faults } = await closedBooks(box.data);
  expect(faults).toEqual([]);
  expect(Math.min(counts.answered, counts.refused + counts.failed)).toBeGreaterThan(0);
});

test('the law finds overspending for a key without the budget', async () => {
  const law = fc.asyncProperty(worlds, async (world) => (await play(world, await keyOf([]))).spent <= LIMIT);
  const { failed, errorInstance } = await fc.check(law, { numRuns: 60, endOnFailure: true });
  expect([failed, errorInstance]).toEqual([
    true,
    expect.objectContaining({ message: expect.stringContaining('false') }),
  ]);
});
