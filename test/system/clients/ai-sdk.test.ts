import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible, type MetadataExtractor } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  createUIMessageStream,
  createUIMessageStreamResponse,
  generateObject,
  generateText,
  isStepCount,
  Output,
  RetryError,
  streamText,
  type TextStreamPart,
  type ToolSet,
  tool,
  type UIMessageStreamWriter,
} from 'ai';
import { z } from 'zod';
import { waitFor } from '../../support/answers.ts';
import { asksForWeather, platformOf, startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';
import { inTime } from '../../support/in-time.ts';

/** The SDK's own way to read members that a provider adds to its answers. */
const metadataExtractor: MetadataExtractor = {
  extractMetadata: async ({ parsedBody }) => metadataOf(platformOf(parsedBody as object)),
  createStreamExtractor: () => {
    let platform: ReturnType<typeof platformOf>;
    return {
      processChunk: (chunk) => {
        platform = platformOf(chunk as object) ?? platform;
      },
      buildMetadata: () => metadataOf(platform),
    };
  },
};

const metadataOf = (platform: ReturnType<typeof platformOf>) =>
  platform && { signalbox: { ...platform, dropped: [...platform.dropped] } };

describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let provider: ReturnType<typeof createOpenAICompatible>;

  beforeAll(() => {
    // Without this setting, `generateObject` warns that it is deprecated.
    globalThis.AI_SDK_LOG_WARNINGS = false;
    provider = createOpenAICompatible({
      name: 'signalbox',
      apiKey: bench.box.key,
      baseURL: bench.baseURL,
      includeUsage: true,
      supportsStructuredOutputs: true,
      metadataExtractor,
    });
  });
  afterEach(() => bench.upstream.behave({}));

  const prompt = 'Say hello.';
  const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const ANSWER = '{"name":"Bern","people":134000}';
  const City = z.object({ name: z.string(), people: z.number() });

  describe('generateText', () => {
    test('generateText returns text, finish reason and usage', async () => {
      bench.upstream.next({ text: 'Hello!', usage: USAGE });
      const result = await generateText({ model: provider('auto'), prompt });
      expect(result.text).toBe('Hello!');
      expect(result.finishReason).toBe('stop');
      expect(result.usage).toMatchObject({ inputTokens: 10, outputTokens: 20, totalTokens: 30 });
      expect(result.finalStep.response.modelId).toBe('best');
      expect(result.warnings ?? []).toEqual([]);
    });

    test('generateText sends our fields and can read `platform`', async () => {
      const call = {
        model: provider('auto'),
        prompt,
        providerOptions: { signalbox: { route_strategy: { cost_weight: 1, quality_weight: 0 }, budget_limit: 10 } },
      };
      const expected = { routed_model: 'vendor/plain', route_reason: 'auto:weighted' };
      const { finalStep } = await generateText(call);
      expect(finalStep.providerMetadata?.signalbox).toMatchObject(expected);
      const streamed = await streamText(call).finalStep;
      expect(streamed.providerMetadata?.signalbox).toMatchObject(expected);
    });

    test('generateText returns the reasoning of a model separately from its text', async () => {
      bench.upstream.next({ reasoning: 'Let me think.', text: 'Yes.' });
      const { finalStep, text } = await generateText({ model: provider('auto'), prompt });
      expect(text).toBe('Yes.');
      expect(finalStep.reasoningText).toBe('Let me think.');
    });
  });

  describe('streamText', () => {
    test('streamText streams text and ends with finish reason and usage', async () => {
      bench.upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
      const result = streamText({ model: provider('auto'), prompt });
      expect((await Array.fromAsync(result.textStream)).join('')).toBe('Hello');
      expect(await result.finishReason).toBe('stop');
      expect(await result.usage).toMatchObject({ inputTokens: 10, outputTokens: 20, totalTokens: 30 });
      expect((await result.finalStep).response.modelId).toBe('best');
    });

    describe('a broken stream', () => {
      const streamed = (errors: unknown[] = []) => {
        bench.upstream.next({ text: ['one ', 'two ', 'three'], cutAfter: bench.eventsWith(2) });
        const onError = ({ error }: { readonly error: unknown }) => void errors.push(error);
        return streamText({ model: provider('best'), prompt, maxRetries: 0, onError });
      };

      test('streamText returns the text so far and the error, and then throws', async () => {
        const errors: unknown[] = [];
        const parts: TextStreamPart<ToolSet>[] = [];
        const read = async () => {
          for await (const part of streamed(errors).fullStream) parts.push(part);
        };
        expect(await read().catch((error: unknown) => APICallError.isInstance(error))).toBe(true);
        expect(parts.flatMap((part) => (part.type === 'text-delta' ? part.text : [])).join('')).toBe('one two ');
        expect(parts.at(-1)?.type).toBe('error');
        expect(errors.map(String).join()).toContain('broke off before its end');
      });

      test('streamText never returns the partial text as a complete answer', async () => {
        const errors: unknown[] = [];
        const text = streamed(errors).text.then(String, (error: unknown) => APICallError.isInstance(error));
        expect(await text).toBe(true);
        expect(errors.map(String).join()).toContain('broke off before its end');
      });

      test('a message stream for browsers contains the error and ends', async () => {
        const onError = (error: unknown) => String(error);
        const execute = ({ writer }: { readonly writer: UIMessageStreamWriter }) =>
          writer.merge(streamed().toUIMessageStream({ onError }));
        const response = createUIMessageStreamResponse({ stream: createUIMessageStream({ execute, onError }) });
        const text = await response.text();
        expect(text).toContain('"delta":"two "');
        expect(text).toContain('broke off before its end');
        expect(text).toEndWith('data: [DONE]\n\n');
      });
    });

    test('aborting streamText aborts the call of the provider', async () => {
      bench.upstream.next({ text: ['a ', 'b ', 'c '], hang: bench.eventsWith(2) });
      const before = bench.upstream.aborted;
      const controller = new AbortController();
      const result = streamText({ model: provider('best'), prompt, abortSignal: controller.signal });
      const parts: string[] = [];
      for await (const { type } of result.fullStream) {
        parts.push(type);
        if (type === 'text-delta') controller.abort();
      }
      expect(parts.at(-1)).toBe('abort');
      await waitFor(() => bench.upstream.aborted > before);
    });
  });

  describe('tools', () => {
    const weatherTool = (asked: string[]) =>
      tool({
        description: 'The weather of a city.',
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }) => {
          asked.push(city);
          return '20 °C';
        },
      });

    test('the SDK calls tools and sends their results over several steps', async () => {
      bench.upstream.behave(asksForWeather);
      const asked: string[] = [];
      const result = await generateText({
        model: provider('auto'),
        prompt,
        tools: { weather: weatherTool(asked) },
        stopWhen: isStepCount(3),
      });
      expect(asked).toEqual(['Bern']);
      expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
      expect(result.text).toContain('20 °C in Bern.');
    });

    test('the SDK calls tools and sends their results over several streamed steps', async () => {
      bench.upstream.behave(asksForWeather);
      const asked: string[] = [];
      const result = streamText({
        model: provider('auto'),
        prompt,
        tools: { weather: weatherTool(asked) },
        stopWhen: isStepCount(3),
      });
      expect((await Array.fromAsync(result.textStream)).join('')).toContain('20 °C in Bern.');
      expect(asked).toEqual(['Bern']);
      expect((await result.steps).map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    });
  });

  describe('structured outputs', () => {
    test('generateText with an output returns an object', async () => {
      bench.upstream.next({ text: ANSWER });
      const result = await generateText({ model: provider('auto'), prompt, output: Output.object({ schema: City }) });
      expect(result.output).toEqual({ name: 'Bern', people: 134_000 });
      expect(bench.upstream.requests.at(-1)?.asked.schema).toMatchObject({
        type: 'object',
        required: ['name', 'people'],
      });
    });

    test('streamText with an output returns an object', async () => {
      bench.upstream.next({ text: ANSWER });
      const result = streamText({ model: provider('auto'), prompt, output: Output.object({ schema: City }) });
      const partial = await Array.fromAsync(result.partialOutputStream);
      expect(partial.at(-1)).toEqual({ name: 'Bern', people: 134_000 });
      expect(await result.output).toEqual({ name: 'Bern', people: 134_000 });
    });

    test('the older generateObject returns an object', async () => {
      bench.upstream.next({ text: ANSWER });
      const { object } = await generateObject({ model: provider('auto'), prompt, schema: City });
      expect(object).toEqual({ name: 'Bern', people: 134_000 });
    });
  });

  describe('errors', () => {
    async function failure(model: string, maxRetries = 0): Promise<unknown> {
      try {
        await generateText({ model: provider(model), prompt, maxRetries });
      } catch (error) {
        return error;
      }
      throw new Error('it did not fail');
    }

    test('errors are APICallErrors with status, message and our body', async () => {
      const error = await failure('no-such-model');
      if (!APICallError.isInstance(error)) throw error;
      expect(error).toMatchObject({ statusCode: 404, isRetryable: false });
      expect(error.message).toContain('no-such-model');
      expect(error.data).toMatchObject({ error: { code: 'model_not_found', param: 'model' } });
    });

    test('the SDK retries after an error of a failed upstream, and a successful retry hides the error', async () => {
      // By itself, the client waits two seconds before its first retry.
      await inTime(1_900, async () => {
        const before = bench.upstream.requests.length;
        bench.upstream.next(
          { status: 429, headers: { 'retry-after-ms': '50' } },
          { status: 429, headers: { 'retry-after-ms': '50' } },
          { text: 'Now.' },
        );
        const { text } = await generateText({ model: provider('best'), prompt });
        expect(text).toBe('Now.');
        expect(bench.upstream.requests.length - before).toBe(3);
      });
    });

    test('persistent errors become a RetryError with the last error', async () => {
      bench.upstream.behave({ status: 429, headers: { 'retry-after-ms': '10' } });
      const error = await failure('best', 1);
      if (!RetryError.isInstance(error)) throw error;
      expect(error.lastError).toMatchObject({ statusCode: 429, isRetryable: true });
    });
  });
});
