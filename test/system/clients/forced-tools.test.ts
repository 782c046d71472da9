import { beforeAll, describe, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { testPolicy } from '../../support/policies.ts';
import { useSignalbox, useUpstream } from '../../support/use.ts';

/**
 * Clients that force one tool to receive an object. The Claude model refuses a forced tool, so Signalbox requests an answer in a schema.
 */
const MODEL = 'claude-opus-5-5';
const CITY = { name: 'Bern', people: 134_000 };
const PIECES = ['{"name":"Bern",', '"people":134000}'];

const upstream = useUpstream({ dialect: 'anthropic' });
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: { url: upstream.url, adapter: 'anthropic' } },
    { [MODEL]: { endpoints: ['fake'], capabilities: ['tools', 'json_schema', 'reasoning'] } },
  ),
}));

beforeAll(() => {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  upstream.behave(({ asked }) => (asked.schema ? { text: PIECES } : {}));
});

const City = z.object({ name: z.string().min(1), people: z.number().int() });

describe('LangChain', () => {
  test.each([
    ['chat', false],
    ['Responses', true],
  ])('LangChain parses the call of `withStructuredOutput` over %s', async (_, useResponsesApi) => {
    const chat = new ChatOpenAI({
      model: MODEL,
      apiKey: box.key,
      configuration: { baseURL: `${box.url}/v1` },
      maxRetries: 0,
      useResponsesApi,
    });
    const model = chat.withStructuredOutput(City, { name: 'city', method: 'functionCalling' });
    expect(await model.invoke('Which city?')).toEqual(CITY);
    // With Responses, LangChain cannot read a streamed call.
    if (useResponsesApi) return;
    const pieces = await Array.fromAsync(await model.stream('Which city?'));
    expect(pieces.at(-1)).toEqual(CITY);
  });
});

test('LangChain with Messages parses the call of `withStructuredOutput`', async () => {
  const claude = new ChatAnthropic({ model: 'auto', apiKey: box.key, anthropicApiUrl: box.url, maxRetries: 0 });
  const model = claude.withStructuredOutput(City, { name: 'city', method: 'functionCalling' });
  expect(await model.invoke('Which city?')).toEqual(CITY);
  expect(upstream.requests.at(-1)!.asked.schema).not.toBeNull();
});

describe('the AI SDK', () => {
  const city = tool({ description: 'Names a city.', inputSchema: City });
  const forced = {
    prompt: 'Which city?',
    tools: { city },
    toolChoice: { type: 'tool', toolName: 'city' },
    stopWhen: isStepCount(1),
  } as const;
  const providers = () => {
    const base = { apiKey: box.key, baseURL: `${box.url}/v1` };
    return {
      'OpenAI’s chat': createOpenAICompatible({ name: 'signalbox', ...base })(MODEL),
      Responses: createOpenAI(base).responses(MODEL),
      // With the name of a Claude model that refuses forced calls, this client does not force a call.
      Messages: createAnthropic(base)('auto'),
    };
  };

  test.each(['OpenAI’s chat', 'Responses', 'Messages'] as const)(
    'the AI SDK receives a forced call over %s',
    async (dialect) => {
      const model = providers()[dialect];
      const whole = await generateText({ model, ...forced });
      expect(whole.toolCalls).toMatchObject([{ toolName: 'city', input: CITY }]);
      expect(whole.finishReason).toBe('tool-calls');
      const stream = streamText({ model, ...forced });
      expect(await stream.toolCalls).toMatchObject([{ toolName: 'city', input: CITY }]);
      expect(await stream.finishReason).toBe('tool-calls');
      expect(upstream.requests.slice(-2).map(({ asked }) => asked.schema !== null)).toEqual([true, true]);
    },
  );
});
