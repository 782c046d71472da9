import { describe, expect, test } from 'bun:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenAIEmbeddings } from '@langchain/openai';
import { cosineSimilarity, embed, embedMany } from 'ai';
import OpenAI from 'openai';
import { useEmbeddings, vectorFor } from '../../support/embedding-upstream.ts';
import { useSignalbox } from '../../support/use.ts';

const WIRES = [
  ['openai', useEmbeddings('openai')],
  ['gemini', useEmbeddings('gemini')],
] as const;

const POLICY = `version: 1
providers:
${WIRES.map(([adapter, { url }]) => `  ${adapter}: { adapter: ${adapter}, base_url: "${url}", api_key_env: TEST_UPSTREAM_KEY }`).join('\n')}
models:
${WIRES.map(
  ([adapter]) => `  from-${adapter}:
    provider: ${adapter}
    price: { input: 1, output: 0 }
    context_window: 8192
    operations: [embed]
    embedding: { dimensions: 8, shortest: 2, batch_inputs: 2 }
`,
).join('')}`;

const box = useSignalbox(() => ({ policy: POLICY }));
const texts = ['one', 'two words', 'three words here'];

describe.each(WIRES.map(([adapter]) => adapter))('%s', (adapter) => {
  const model = `from-${adapter}`;
  const client = () => new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
  const near = (vector: readonly number[]) => vector.map((number) => expect.closeTo(number, 6));

  test('the openai client receives embeddings in base64, which it requests by default', async () => {
    const { data, usage } = await client().embeddings.create({ model, input: texts });
    expect(data.map(({ embedding }) => embedding)).toEqual(texts.map((text) => near(vectorFor(text, 8))));
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(usage.total_tokens).toBeGreaterThan(0);
  });

  test('the openai client receives embeddings as floats with fewer dimensions', async () => {
    const { data } = await client().embeddings.create({ model, input: 'one', dimensions: 4, encoding_format: 'float' });
    expect(data[0]?.embedding).toEqual(vectorFor('one', 4));
  });

  test('the openai client raises errors', async () => {
    const wrong = client().embeddings.create({ model, input: 'one', dimensions: 64 });
    expect(await wrong.catch((error: unknown) => error)).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'dimensions',
    });
  });

  test.each([
    ['@ai-sdk/openai', () => createOpenAI({ apiKey: box.key, baseURL: `${box.url}/v1` }).embeddingModel(model)],
    [
      '@ai-sdk/openai-compatible',
      () => createOpenAICompatible({ name: 'box', apiKey: box.key, baseURL: `${box.url}/v1` }).embeddingModel(model),
    ],
  ] as const)('the AI SDK embeds one and many by %s', async (_, make) => {
    const one = await embed({ model: make(), value: 'one' });
    expect(one.embedding).toEqual(vectorFor('one', 8));
    expect(one.usage.tokens).toBeGreaterThan(0);
    const many = await embedMany({ model: make(), values: texts });
    expect(many.embeddings).toEqual(texts.map((text) => vectorFor(text, 8)));
  });

  test('LangChain embeds documents and a query', async () => {
    const langchain = new OpenAIEmbeddings({ model, apiKey: box.key, configuration: { baseURL: `${box.url}/v1` } });
    expect(await langchain.embedDocuments(texts)).toEqual(texts.map((text) => near(vectorFor(text, 8))));
    expect(await langchain.embedQuery('one')).toEqual(near(vectorFor('one', 8)));
  });
});

describe('the simulated model', () => {
  const offline = useSignalbox({});

  test('the simulated model gives similar vectors to texts with shared words', async () => {
    const client = new OpenAI({ apiKey: offline.key, baseURL: `${offline.url}/v1` });
    const input = ['the signal is red', 'the red signal', 'bake a cake'];
    const { data } = await client.embeddings.create({ model: 'sim-embed', input });
    const [a, b, c] = data.map(({ embedding }) => embedding);
    expect(cosineSimilarity(a!, b!)).toBeGreaterThan(cosineSimilarity(a!, c!) + 0.3);
  });
});
