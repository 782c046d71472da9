import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { createOpenAI, type OpenAILanguageModelResponsesOptions } from '@ai-sdk/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { RESPONSES_UPSTREAMS, startBench } from '../../support/dialect-bench.ts';
import { checkedFetch, checkStreams } from '../../support/open-responses/schemas.ts';
import { PARAMETERS, QUESTION, TURNS_BEFORE, thinker } from './weather-loop.ts';

/**
 * Tool loops over Responses with a model that thinks: two calls in one turn, then one more call, then an answer. Reasoning items contain
 * the state of its thoughts, and return to the model unchanged.
 */
const TOOLS = [{ type: 'function' as const, name: 'weather', parameters: PARAMETERS, strict: false }];

const checked = Object.assign(checkedFetch, { preconnect: fetch.preconnect });

describe.each(RESPONSES_UPSTREAMS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let client: OpenAI;
  beforeAll(() => {
    // The SDK would warn about thoughts without state, which some models have.
    globalThis.AI_SDK_LOG_WARNINGS = false;
    client = new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 0, fetch: checkedFetch });
  });
  beforeEach(() => bench.upstream.behave(thinker));
  afterEach(checkStreams);

  /** Checks that the upstream received the whole conversation, with each thought that it had signed. */
  function expectWhole(keepsState: boolean): void {
    const { asked, text } = bench.upstream.requests.at(-1)!;
    expect(asked.turns as unknown[]).toEqual(TURNS_BEFORE);
    if (dialect === 'anthropic') expect(text.split('"type":"thinking"')).toHaveLength(keepsState ? 3 : 1);
    if (dialect === 'gemini') expect(text.includes('skip_thought_signature_validator')).toBe(!keepsState);
  }

  test.each(['JSON', 'a stream'])('the official client sends items back unchanged, by %s', async (way) => {
    const input: ResponseInputItem[] = [{ role: 'user', content: QUESTION }];
    const body = () => ({ model: 'best', input, tools: TOOLS, store: false, reasoning: { effort: 'low' as const } });
    let text = '';
    for (let step = 0; step < 3; step++) {
      const made = way === 'JSON' ? client.responses.create(body()) : client.responses.stream(body()).finalResponse();
      const { output, output_text } = await made;
      // The helper adds a member that OpenAI's own service refuses.
      const items = output.map((item) => ({ ...item, parsed_arguments: undefined }));
      input.push(...(items as ResponseInputItem[]));
      for (const call of output) {
        if (call.type !== 'function_call') continue;
        const { city } = JSON.parse(call.arguments);
        input.push({ type: 'function_call_output', call_id: call.call_id, output: `20 °C in ${city}` });
      }
      text = output_text;
    }
    expect(text).toBe('In Rome.');
    expectWhole(true);
  });

  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `20 °C in ${city}`,
  });
  const providerOptions = {
    openai: {
      store: false,
      reasoningEffort: 'low',
      forceReasoning: true,
    } satisfies OpenAILanguageModelResponsesOptions,
  };
  const common = { prompt: QUESTION, tools: { weather }, stopWhen: isStepCount(4), maxRetries: 0, providerOptions };

  test('the AI SDK with its OpenAI provider completes the loop and keeps the state', async () => {
    const openai = createOpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, fetch: checked });
    const { text, steps } = await generateText({ model: openai('best'), ...common });
    expect([text, steps.length]).toEqual(['In Rome.', 3]);
    expectWhole(true);
    const streamed = streamText({ model: openai('best'), ...common });
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('In Rome.');
    expectWhole(true);
  });

  test('the AI SDK with its Open Responses provider completes the loop', async () => {
    const url = `${bench.baseURL}/responses`;
    const open = createOpenResponses({ name: 'signalbox', apiKey: bench.box.key, url, fetch: checked });
    const { text, steps } = await generateText({ model: open('best'), ...common });
    expect([text, steps.length]).toEqual(['In Rome.', 3]);
    expect(bench.upstream.requests.at(-1)!.asked.turns as unknown[]).toEqual(TURNS_BEFORE);
    const streamed = streamText({ model: open('best'), ...common });
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('In Rome.');
  });
});
