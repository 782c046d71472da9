import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { APICallError, embedMany, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { asksForWeather, startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';
import { useSignalbox } from '../../support/use.ts';

/** The AI SDK's client of Gemini's API, with a model at a service of each dialect. */
describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let provider: ReturnType<typeof createGoogleGenerativeAI>;
  beforeAll(() => {
    globalThis.AI_SDK_LOG_WARNINGS = false;
    provider = createGoogleGenerativeAI({ apiKey: bench.box.key, baseURL: `${bench.box.url}/v1beta` });
  });
  afterEach(() => bench.upstream.behave({}));

  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const call = () => ({ model: provider('best'), prompt: 'Say hello.', maxOutputTokens: 1_000, maxRetries: 0 });
  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `20 °C (${city})`,
  });

  test('an answer has the same text, finish reason and usage in JSON and as a stream', async () => {
    bench.upstream.behave({ text: ['Hel', 'lo'], usage });
    const streamed = streamText(call());
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('Hello');
    for (const result of [await generateText(call()), streamed]) {
      expect([await result.text, await result.finishReason]).toEqual(['Hello', 'stop']);
      expect(await result.usage).toMatchObject({ inputTokens: 10, outputTokens: 20, totalTokens: 30 });
    }
  });

  test('a tool loop completes, in JSON and as a stream', async () => {
    bench.upstream.behave(asksForWeather);
    const loop = { ...call(), tools: { weather }, stopWhen: isStepCount(3) };
    const { text, steps } = await generateText(loop);
    expect(steps.length).toBe(2);
    expect(text).toContain('20 °C (Bern)');
    const streamed = streamText(loop);
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe(text);
  });

  test('a schema of the answer reaches the model', async () => {
    bench.upstream.behave({ text: '{"city":"Bern"}' });
    const schema = z.object({ city: z.string() });
    const { output } = await generateText({ ...call(), output: Output.object({ schema }) });
    expect(output).toEqual({ city: 'Bern' });
    expect(bench.upstream.requests.at(-1)!.asked.schema).toMatchObject({ properties: { city: { type: 'string' } } });
  });

  test('a stream that breaks throws an error, because the connection breaks', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
    const read = Array.fromAsync(streamText({ ...call(), onError: () => {} }).fullStream);
    await expect(read).rejects.toThrow('Failed to process successful response');
  });

  test('a refused request raises an error with its status and message', async () => {
    const refused: unknown = await generateText({ ...call(), model: provider('none') }).catch(
      (error: unknown) => error,
    );
    if (!APICallError.isInstance(refused)) throw new Error('it did not fail');
    expect([refused.statusCode, refused.isRetryable]).toEqual([404, false]);
    expect(refused.message).toContain('none');
  });
});

describe('with the simulated models', () => {
  const box = useSignalbox();

  test('several texts get their vectors', async () => {
    const google = createGoogleGenerativeAI({ apiKey: box.key, baseURL: `${box.url}/v1beta` });
    const { embeddings } = await embedMany({ model: google.embedding('sim-embed'), values: ['one', 'two', 'three'] });
    expect(embeddings.map(({ length }) => length)).toEqual([768, 768, 768]);
    expect(embeddings[0]).not.toEqual(embeddings[1]!);
  });
});
