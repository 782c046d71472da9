import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AnswerCache } from '../../../src/gateway/cache/answer-cache.ts';
import { addedSteps } from '../../../src/gateway/request/added-steps.ts';
import type { Step, StepChoice } from '../../../src/gateway/request/steps.ts';
import { type VectorsAnswer, vectorsOf, waitFor } from '../../support/answers.ts';
import { useEmbeddings, vectorFor } from '../../support/embedding-upstream.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { startSignalbox } from '../../support/signalbox.ts';
import { useSignalbox } from '../../support/use.ts';
import { CACHE_HEADER } from './support.ts';

const service = useEmbeddings('openai');

const policyOf = (cache = '{}', batch = 3) => `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  first: { adapter: openai-compatible, base_url: "${service.url}", api_key_env: TEST_UPSTREAM_KEY }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
  small:
    endpoints: [{ provider: first, upstream: small-1 }]
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 100
    operations: [embed]
    embedding: { dimensions: 8, batch_inputs: ${batch}, vector_space: s }
    latency: { ttft_ms: 100, output_tokens_per_second: 1000, basis: guessed }
cache: ${cache}
`;
const box = useSignalbox(() => ({ policy: policyOf() }));

beforeEach(() => {
  service.received.length = 0;
});

const embed = (input: string | string[], more = {}) => box.post('/v1/embeddings', { model: 'small', input, ...more });
const listOf = ({ data }: VectorsAnswer) => data.map(({ index, embedding }) => [index, embedding]);
const expected = (texts: string[]) => texts.map((text, index) => [index, vectorFor(text, 8)]);

const hitOf = (input: string | string[], more = {}) =>
  waitFor(async () => {
    const response = await embed(input, more);
    return response.headers.get(CACHE_HEADER) === 'hit' ? response : null;
  });

test('each input is an entry: any texts that were embedded before are a hit, in any order and number', async () => {
  const first = await vectorsOf(await embed(['one', 'two words', 'three']));
  const again = await hitOf(['one', 'two words', 'three']);
  expect(again.headers.get('x-signalbox-credits')).toBe('0');
  const whole = await vectorsOf(again);
  expect([listOf(whole), whole.usage]).toEqual([listOf(first), first.usage]);
  service.received.length = 0;
  expect(listOf(await vectorsOf(await hitOf(['three', 'one'])))).toEqual(expected(['three', 'one']));
  expect(service.received).toEqual([]);
});

test('the model gets only the texts that are not in the cache, and only they are charged', async () => {
  await hitOf(['kept a', 'kept b']);
  service.received.length = 0;
  const texts = ['new one', 'kept a', 'new two', 'kept b', 'kept a', 'new three'];
  const response = await embed(texts);
  expect(response.headers.get(CACHE_HEADER)).toBe('partial');
  const answer = await vectorsOf(response);
  expect(listOf(answer)).toEqual(expected(texts));
  expect(service.received.flatMap(({ body }) => Object(body).input)).toEqual(['new one', 'new two', 'new three']);
  expect(answer.usage.prompt_tokens).toBe(6);
  expect(Number(response.headers.get('x-signalbox-credits'))).toBe(0.006);
  expect(listOf(await vectorsOf(await hitOf(texts)))).toEqual(expected(texts));
  expect(await box.run('ledger', 'audit')).toMatchObject({ code: 0 });
});

test('the inputs that the cache has save their share of the price, and a hit saves the whole price', async () => {
  const saved = async () => {
    const { partial, hits, saved_credits } = (await (await box.get('/admin/cache')).json()) as Record<string, number>;
    return { partial: partial!, hits: hits!, saved: saved_credits! };
  };
  const price = Number((await embed(['saved one', 'saved two more', 'x'])).headers.get('x-signalbox-credits'));
  const until = (hits: number, partial: number) =>
    waitFor(async () => {
      const now = await saved();
      return now.hits === hits && now.partial === partial ? now : null;
    });
  const before = await waitFor(async () => {
    const first = await saved();
    const hit = await embed(['saved one', 'saved two more', 'x']);
    if (hit.headers.get(CACHE_HEADER) !== 'hit') return null;
    return { first, now: await until(first.hits + 1, first.partial) };
  });
  expect(before.now.saved - before.first.saved).toBeCloseTo(price, 9);
  expect((await embed(['new to save', 'x', 'saved two more'])).headers.get(CACHE_HEADER)).toBe('partial');
  const after = await until(before.now.hits, before.now.partial + 1);
  expect(after.saved - before.now.saved).toBeCloseTo(0.004, 9);
});

/** Changes the terms of a key after the cache was read for its request. Returns the answer, and the inputs that the model got. */
async function changedWhileRead(words: readonly string[], terms: object) {
  let change: (() => Promise<Response>) | null = null;
  const waiting: Step = (served, next) => {
    const { cache } = served.gateway;
    const find = AnswerCache.prototype.find.bind(cache);
    cache.find = async (...query) => {
      const found = await find(...query);
      const changing = change;
      change = null;
      if (changing) expect((await changing()).status).toBe(200);
      return found;
    };
    return next(served);
  };
  const steps: StepChoice = (runtime) => {
    const added = addedSteps(runtime);
    return { ...added, beforeDecision: [waiting, ...added.beforeDecision] };
  };
  const other = await startSignalbox({ policy: policyOf(), env: UPSTREAM_ENV, steps });
  try {
    const made = await other.post('/admin/keys', { name: 'changed' });
    const { id, key } = (await made.json()) as { readonly id: string; readonly key: string };
    const send = (input: readonly string[]) =>
      other.post('/v1/embeddings', { model: 'small', input }, { headers: { authorization: `Bearer ${key}` } });
    await waitFor(async () => (await send(words.slice(0, 2))).headers.get(CACHE_HEADER) === 'hit');
    service.received.length = 0;
    change = () => other.post(`/admin/keys/${id}`, terms, { method: 'PATCH' });
    const answer = await send(words);
    expect(change).toBeNull();
    const received = service.received.flatMap(({ body }) => Object(body).input);
    return { status: answer.status, result: answer.headers.get(CACHE_HEADER), received };
  } finally {
    await other.stop();
  }
}

describe.each([
  ['all', ['all one', 'all two']],
  ['some', ['some one', 'some two', 'some three']],
])('a key whose terms change while %s of its inputs are found in the cache', (_, words) => {
  test('gets no vector if it may no longer use the model', async () => {
    const { status, received } = await changedWhileRead(words, { not_models: ['small'] });
    expect([status, received]).toEqual([403, []]);
  });

  test('gets the vectors of the model, and none that were found under its old terms', async () => {
    const { status, result, received } = await changedWhileRead(words, { labels: { tier: 'new' } });
    expect([status, result, received]).toEqual([200, 'miss', words]);
  });
});

test('vectors of another length or another form are other entries', async () => {
  await hitOf('same text');
  for (const more of [{ dimensions: 8 }, { encoding_format: 'base64' }])
    expect((await embed('same text', more)).headers.get(CACHE_HEADER)).toBe('miss');
});

test('many vectors of the cache keep their order, as a whole answer, with new texts among them, and for a named request', async () => {
  const texts = Array.from({ length: 150 }, (_, at) => `of many ${at}`);
  const some = texts.filter((_, at) => at !== 70);
  expect(listOf(await vectorsOf(await hitOf(some)))).toEqual(expected(some));
  service.received.length = 0;
  const named = { headers: { 'idempotency-key': 'many vectors' } };
  const partial = await box.post('/v1/embeddings', { model: 'small', input: texts }, named);
  expect(partial.headers.get(CACHE_HEADER)).toBe('partial');
  expect(listOf(await vectorsOf(partial))).toEqual(expected(texts));
  expect(service.received.flatMap(({ body }) => Object(body).input)).toEqual(['of many 70']);
  expect(listOf(await vectorsOf(await hitOf(texts)))).toEqual(expected(texts));
});

/** Stores more small entries than the cache may keep. Returns the bytes that it says they take, and those that they take in the database. */
async function overfilled(bytesMax: number) {
  const other = await startSignalbox({ policy: policyOf(`{ bytes_max: ${bytesMax} }`, 100), env: UPSTREAM_ENV });
  try {
    const send = (input: string[]) => other.post('/v1/embeddings', { model: 'small', input });
    const words = (from: number) => Array.from({ length: 100 }, (_, at) => `word ${from + at}`);
    for (let from = 0; from < 2_000; from += 100) {
      expect((await send(words(from))).status).toBe(200);
      await waitFor(async () => (await send(words(from))).headers.get(CACHE_HEADER) === 'hit');
    }
    // Entries are deleted after the answer that exceeded the limit.
    const stored = await waitFor(async () => {
      const { bytes } = Object(await (await other.get('/admin/cache')).json()).stored as { readonly bytes: number };
      return bytes <= bytesMax ? bytes : null;
    });
    using db = new Database(join(other.data, 'signalbox.db'), { readonly: true });
    const used = db.query<{ bytes: number }, []>(
      "SELECT sum(pgsize) AS bytes FROM dbstat WHERE name LIKE '%cached_answers%' AND payload > 0",
    );
    return { stored, used: used.get()!.bytes };
  } finally {
    await other.stop();
  }
}

test('the entries take at most `bytes_max` on disk, however small they are', async () => {
  const bytesMax = 1_048_576;
  const { stored, used } = await overfilled(bytesMax);
  expect(used).toBeWithin(stored / 2, stored);
});
