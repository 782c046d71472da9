import { beforeEach, describe, expect, test } from 'bun:test';
import { adviceOf, answerOf, type VectorsAnswer, vectorsOf, waitFor } from '../support/answers.ts';
import { tokensFor, useEmbeddings, vectorFor } from '../support/embedding-upstream.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

const first = useEmbeddings('openai');
const second = useEmbeddings('openai');
const google = useEmbeddings('gemini');
google.dimensions = 6;

const model = (id: string, endpoints: string, embedding: string, more = ''): string => `  ${id}:
    endpoints: [${endpoints}]
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 100
    operations: [embed]
    embedding: { ${embedding} }
    latency: { ttft_ms: 100, output_tokens_per_second: 1000, basis: guessed }
${more}`;

const POLICY = `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  first: { adapter: openai-compatible, base_url: "${first.url}", api_key_env: TEST_UPSTREAM_KEY }
  second: { adapter: openai, base_url: "${second.url}", api_key_env: TEST_UPSTREAM_KEY }
  google: { adapter: gemini, base_url: "${google.url}", api_key_env: TEST_UPSTREAM_KEY }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
${model('small', '{ provider: first, upstream: small-1 }', 'dimensions: 8, shortest: 2, batch_inputs: 3, vector_space: s', '    capabilities: [token_input]\n')}
${model('small-too', '{ provider: second, upstream: small-2 }', 'dimensions: 8, shortest: 4, batch_inputs: 5, vector_space: s', '    quality: { default: 0.8 } # Measured times do not decide between equals.\n')}
${model('gem', '{ provider: google, upstream: gem-1 }', 'dimensions: 6, shortest: 1, batch_inputs: 2')}
selectors:
  search: { strategy: auto, vector_space: s }
gateway: { retries_max: 0 }
budgets:
  - { name: thin, match: 'key.labels.team == "thin"', each: key.id, window: month, limit_credits: 0.05 }
`;

const box = useSignalbox(() => ({ policy: POLICY }));
const embed = (body: object) => box.post('/v1/embeddings', { model: 'small', ...body });
const listOf = ({ data }: VectorsAnswer) => data.map(({ embedding }) => embedding);

beforeEach(() => {
  for (const upstream of [first, second, google]) {
    upstream.received.length = 0;
    upstream.next.length = 0;
  }
});

test('the list of models shows embeddings of a selector only if it has a vector space', async () => {
  const { data } = Object(await (await box.get('/v1/models')).json());
  const operations = new Map(Array.from(data, ({ id, operations }) => [id, operations]));
  expect([operations.get('auto'), operations.get('search'), operations.get('small')]).toEqual([
    [],
    ['embed'],
    ['embed'],
  ]);
});

describe('POST /v1/embeddings', () => {
  test('the endpoint returns the vector of a text, and charges its tokens', async () => {
    const response = await embed({ input: 'one two three' });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-signalbox-model')).toBe('small');
    expect(response.headers.get('x-signalbox-credits')).toBe('0.003');
    const body = await vectorsOf(response);
    expect(body).toMatchObject({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: vectorFor('one two three', 8) }],
      model: 'small',
      usage: { prompt_tokens: 3, total_tokens: 3 },
      platform: {
        routed_model: 'small',
        route_reason: 'pinned',
        credits_consumed: 0.003,
        estimated: false,
        dropped: [],
      },
    });
    expect(first.received).toMatchObject([
      { path: '/v1/embeddings', body: { model: 'small-1', input: ['one two three'] } },
    ]);
  });

  test('more texts than the upstream accepts are split into batches, and joined in order', async () => {
    const input = Array.from({ length: 10 }, (_, at) => `text ${at}`);
    const body = await vectorsOf(await embed({ input }));
    expect(listOf(body)).toEqual(input.map((text) => vectorFor(text, 8)));
    expect(first.received.map(({ texts }) => texts.length)).toEqual([3, 3, 3, 1]);
    expect(body.usage).toEqual({ prompt_tokens: 20, total_tokens: 20 });
    expect(body.platform.attempts).toHaveLength(1);
  });

  test('vectors are returned as 32-bit floats in base64, and read in the same format from the upstream', async () => {
    const body = await vectorsOf<string>(await embed({ model: 'small-too', input: 'a b', encoding_format: 'base64' }));
    expect(second.received[0]?.body.encoding_format).toBe('base64');
    const bytes = Buffer.from(body.data[0]!.embedding, 'base64');
    expect([...new Float32Array(bytes.buffer, bytes.byteOffset, 8)]).toEqual(vectorFor('a b', 8));
  });

  test('shorter vectors are requested from the upstream, but not the model’s own length', async () => {
    const body = await vectorsOf(await embed({ input: 'a b', dimensions: 4 }));
    expect(listOf(body)[0]).toHaveLength(4);
    await embed({ input: 'a b', dimensions: 8 });
    expect(first.received.map(({ body: sent }) => sent.dimensions)).toEqual([4, undefined]);
  });

  test('Gemini’s batchEmbedContents is called, and tokens are counted if it reports none', async () => {
    const input = ['one two', 'three four', 'five six'];
    const body = await vectorsOf(await embed({ model: 'gem', input, dimensions: 3, user: 'somebody' }));
    expect(listOf(body)).toEqual(input.map((text) => vectorFor(text, 3)));
    expect(google.received.map(({ texts }) => texts.length)).toEqual([2, 1]);
    expect(body.platform).toMatchObject({ estimated: true, dropped: ['user'] });
    expect(body.usage.prompt_tokens).toBeGreaterThan(0);
  });

  test('token IDs are accepted for a model that declares them, and for no other', async () => {
    const body = await vectorsOf(await embed({ input: [[1, 2, 3], [4]] }));
    expect(listOf(body)).toEqual([vectorFor('1 2 3', 8), vectorFor('4', 8)]);
    const refused = await embed({ model: 'gem', input: [1, 2] });
    expect(refused.status).toBe(422);
    expect((await answerOf(refused)).error.message).toContain('token_input');
  });

  test.each([
    [{ input: '' }, 400, 'input'],
    [{ input: [] }, 400, 'input'],
    [{ input: ['a', ''] }, 400, 'input[1]'],
    [{}, 400, 'input'],
    [{ input: 'a', dimensions: 0 }, 400, 'dimensions'],
    [{ input: 'a', dimensions: 16 }, 400, 'dimensions'],
    [{ input: 'a', encoding_format: 'hex' }, 400, 'encoding_format'],
    [{ input: 'a', dimension: 4 }, 400, 'dimension'],
    [{ input: 'word '.repeat(500) }, 400, 'input'],
    [{ model: 'search-', input: 'a' }, 404, 'model'],
    [{ model: 'auto', input: 'a' }, 422, null],
    [{ model: 'gem', input: 'a', constraints: { required_languages: ['go'] } }, 400, 'constraints.required_languages'],
  ])('%j is refused with %i about %s, before anything is called', async (body, status, param) => {
    const response = await embed(body);
    expect(response.status).toBe(status);
    expect((await answerOf(response)).error.param).toBe(param);
    expect(first.received).toEqual([]);
  });

  test('a chat with a model that only makes embeddings is refused', async () => {
    const chat = await box.post('/v1/chat/completions', {
      model: 'small',
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(chat.status).toBe(422);
  });
});

describe('failover', () => {
  const input = ['a b', 'c d', 'e f', 'g h'];

  test('failover of embeddings stays within the vector space, and pays for the completed batches', async () => {
    first.next.push(null, Response.json({ error: { message: 'down' } }, { status: 503 }));
    second.next.push(null);
    const body = await vectorsOf(await embed({ model: 'search', input }));
    expect(listOf(body)).toEqual(input.map((text) => vectorFor(text, 8)));
    expect(google.received).toEqual([]);
    const { attempts, credits_consumed: credits } = body.platform;
    expect(attempts.map(({ model: id, failure }) => [id, failure])).toEqual([
      ['small', 'overloaded'],
      ['small-too', null],
    ]);
    // Three texts of the first batch, then all four texts.
    expect(credits).toBe(0.014);
  });

  test('a vector of another length counts as a fault of the endpoint', async () => {
    first.next.push(Response.json({ data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 1 } }));
    const body = await vectorsOf(await embed({ model: 'search', input: 'a b' }));
    expect(body.platform.attempts[0]?.failure).toBe('malformed');
    expect(listOf(body)).toEqual([vectorFor('a b', 8)]);
  });

  test.each([
    ['lacks one', [{ index: 0, embedding: Array(8).fill(0) }]],
    ['has one twice', [0, 0].map((index) => ({ index, embedding: Array(8).fill(0) }))],
    ['has one vector too many', [0, 1, 2].map((index) => ({ index, embedding: Array(8).fill(0) }))],
    ['has no number', [0, 1].map((index) => ({ index, embedding: [...Array(7).fill(0), 'x'] }))],
  ])('an answer that %s ends with an error', async (_, data) => {
    first.next.push(Response.json({ data, usage: { prompt_tokens: 1 } }));
    const response = await embed({ input: ['a', 'b'] });
    expect(response.status).toBe(502);
    expect((await answerOf(response)).error.code).toBe('upstream_failed');
  });

  test('a request that names an embedding model never fails over to another model', async () => {
    first.next.push(Response.json({ error: { message: 'down' } }, { status: 503 }));
    expect((await embed({ input: 'a' })).status).toBe(502);
    expect(second.received).toEqual([]);
  });
});

describe('money', () => {
  test('a budget holds only the input, and refuses a request that could exceed it', async () => {
    const headers = { authorization: `Bearer ${await box.makeKey('--scope', 'embed', '--label', 'team=thin')}` };
    const thin = (input: unknown) => box.post('/v1/embeddings', { model: 'small', input }, { headers });
    expect((await thin('a b c')).status).toBe(200);
    const refused = await thin(Array(20).fill('a b c d e f'));
    expect(refused.status).toBe(402);
    expect((await answerOf(refused)).error.code).toBe('request_exceeds_budget');
  });

  test.each([
    ['a key with a budget never overspends it', ['--label', 'team=thin'], true],
    ['a key without the budget would overspend', [], false],
  ] as const)('in a burst with failing endpoints, %s', async (_, flags, isKept) => {
    const key = await box.makeKey('--scope', 'embed', ...flags);
    for (let at = 0; at < 15; at++)
      first.next.push(null, Response.json({ error: { message: 'down' } }, { status: 503 }));
    const sent = Array.from({ length: 30 }, (_unused, at) =>
      box.post(
        '/v1/embeddings',
        { model: 'search', input: [`a b ${at}`, 'c d', 'e', 'f'] },
        { headers: { authorization: `Bearer ${key}` } },
      ),
    );
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    const billed = [...first.received, ...second.received].flatMap(({ texts }) => texts);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    // A failed call reported nothing, but an upstream could have billed it.
    const tokens = billed.reduce((sum, text) => sum + tokensFor(text), 0);
    const usage = await box.get('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    const { total_credits: spent } = (await usage.json()) as { readonly total_credits: number };
    expect(spent <= 0.05).toBe(isKept);
    expect(spent).toBeLessThanOrEqual(tokens / 1000);
  });

  test('the decision for embeddings has no expected length of an answer, whether it is repeated or read from its record', async () => {
    const { platform } = await vectorsOf(await embed({ input: 'a b' }));
    const reader = await box.makeKey('--scope', 'report');
    for (const init of [{}, withKey(reader)]) {
      const decision = await waitFor(async () => {
        const response = await box.get(`/v1/decisions/${platform.decision_id}`, init);
        return response.status === 200 ? response : null;
      });
      expect(await decision.json()).toMatchObject({ expected_output_tokens: null, expected_output_source: null });
    }
  });

  test('budget_limit limits the bytes of the texts', async () => {
    const refused = await embed({ input: 'a b c d', budget_limit: 0.005 });
    expect(refused.status).toBe(400);
    expect((await answerOf(refused)).error.code).toBe('budget_limit_too_low');
    expect((await embed({ input: 'a b c d', budget_limit: 0.02 })).status).toBe(200);
  });

  test('a repeat with an Idempotency-Key gets the same vectors in the requested format, and is charged once', async () => {
    const send = () =>
      box.post('/v1/embeddings', { model: 'small', input: 'once' }, { headers: { 'idempotency-key': 'emb-1' } });
    const one = await vectorsOf(await send());
    const again = await send();
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect(await vectorsOf(again)).toEqual(one);
    expect(first.received).toHaveLength(1);
  });
});

test('the decision of an embeddings request is recorded with its operation, and can be explained', async () => {
  const body = await vectorsOf(await embed({ model: 'search', input: ['a b', 'c'], dimensions: 4 }));
  const decision = await answerOf(await box.get(`/v1/decisions/${body.platform.decision_id}`));
  expect(decision).toMatchObject({
    kind: 'embed',
    choice: 'small',
    fallbacks: ['small-too'],
    facts: { operation: 'embed', embedding: { inputs: 2, longest_input_tokens: 1, dimensions: 4 } },
    outcome: { status: 'completed', credits_consumed: 0.003 },
  });
  const metrics = await (await box.get('/metrics')).text();
  expect(metrics).toMatch(/signalbox_chats_total\{operation="embed",selector="search",model="small"/);
});

test('POST /v1/route recommends an embedding model', async () => {
  const advice = await adviceOf(await box.post('/v1/route', { model: 'search', operation: 'embed', input: ['a b'] }));
  expect(advice).toMatchObject({ recommended_model: 'small', alternatives: [{ model: 'small-too' }] });
});

test('POST /v1/route accepts a whole body of the embeddings API that names its dialect', async () => {
  const body = { model: 'search', input: ['a b'], encoding_format: 'base64' };
  const advice = await adviceOf(await box.post('/v1/route', { dialect: 'openai-embeddings', ...body }));
  expect(advice).toMatchObject({ recommended_model: 'small', alternatives: [{ model: 'small-too' }] });
});
