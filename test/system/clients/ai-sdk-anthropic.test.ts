import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { APICallError, generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { asksForWeather, startBench } from '../../support/dialect-bench.ts';

/** The AI SDK's client of Anthropic Messages, with a model that speaks Messages and one that does not. */
describe.each(['anthropic', 'openai'] as const)('%s', (dialect) => {
  const bench = startBench(dialect);
  let provider: ReturnType<typeof createAnthropic>;
  beforeAll(() => {
    globalThis.AI_SDK_LOG_WARNINGS = false;
    provider = createAnthropic({ apiKey: bench.box.key, baseURL: bench.baseURL });
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
    expect([text, steps.length]).toEqual(['It is 20 °C (Bern) in Bern.', 2]);
    const streamed = streamText(loop);
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('It is 20 °C (Bern) in Bern.');
  });

  test('a stream that breaks ends with an error', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
    const parts = await Array.fromAsync(streamText({ ...call(), onError: () => {} }).fullStream);
    expect(JSON.stringify(parts.filter(({ type }) => type === 'error'))).toContain('broke off before its end');
    expect(parts.filter((part) => part.type === 'finish' && part.finishReason === 'stop')).toEqual([]);
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
