import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, streamText, tool } from 'ai';
import OpenAI from 'openai';
import type { ChatCompletionChunk, ChatCompletionMessage, ChatCompletionMessageParam } from 'openai/resources';
import { z } from 'zod';
import { listOf, textOf } from '../../../plugins/providers/json.ts';
import { startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';
import { PARAMETERS, QUESTION, TURNS_ANSWERED, TURNS_THANKED, thinker } from './weather-loop.ts';

/**
 * Tool loops with a model that thinks: two calls in one turn, then one more call, then an answer, and a further turn. Clients may keep or
 * drop the thoughts; Signalbox accepts both, and the model receives kept thoughts unchanged.
 */
const TOOLS = [{ type: 'function' as const, function: { name: 'weather', parameters: PARAMETERS } }];
const SYSTEM = 'Be brief.';

type Fields = Readonly<Record<string, unknown>>;
type Message = ChatCompletionMessage & Fields;

/** Assembles a stream as a careful client does, which keeps unknown members. */
function putTogether(chunks: readonly ChatCompletionChunk[]): Message {
  const message: Record<string, unknown> = { role: 'assistant', content: '' };
  const details: unknown[] = [];
  const calls: { function: { name: string; arguments: string } }[] = [];
  for (const { choices } of chunks) {
    const delta: Fields = Object(choices[0]?.delta);
    message.content += textOf(delta.content);
    details.push(...listOf(delta.reasoning_details));
    if (delta.extra_content) message.extra_content = delta.extra_content;
    for (const { index, function: fn, ...members } of choices[0]?.delta.tool_calls ?? []) {
      calls[index] ??= { function: { name: fn?.name ?? '', arguments: '' } };
      calls[index].function.arguments += fn?.arguments ?? '';
      Object.assign(calls[index], members);
    }
  }
  if (details.length > 0) message.reasoning_details = details;
  if (calls.length > 0) message.tool_calls = calls;
  return message as unknown as Message;
}

/** The members that a client keeps that knows only OpenAI's own API. */
function bare({ role, content, refusal, tool_calls }: Message): ChatCompletionMessageParam {
  const calls = tool_calls?.map(({ id, type, ...call }) => ({ id, type, function: Object(call).function }));
  return { role, content, refusal, ...(calls && { tool_calls: calls }) } as ChatCompletionMessageParam;
}

describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let client: OpenAI;
  beforeAll(() => {
    client = new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 0 });
  });
  beforeEach(() => bench.upstream.behave(thinker));

  const bodyOf = (model: string, messages: ChatCompletionMessageParam[]) => {
    return { model, messages, tools: TOOLS, reasoning_effort: 'low' as const, max_tokens: 3_000 };
  };

  /** Ways to request an answer, and the message that the client sends back. */
  const WAYS: Record<string, (body: ReturnType<typeof bodyOf>) => Promise<ChatCompletionMessageParam>> = {
    'a client that gives answers back as they came': async (body) =>
      (await client.chat.completions.create(body)).choices[0]!.message,
    'a client that puts streams together with care': async (body) =>
      putTogether(await Array.fromAsync(await client.chat.completions.create({ ...body, stream: true }))),
    'the helper for streams': async (body) =>
      (await client.chat.completions.stream(body).finalChatCompletion()).choices[0]!.message,
    'a client that keeps nothing but OpenAI’s members': async (body) =>
      bare((await client.chat.completions.create(body)).choices[0]!.message as Message),
  };

  for (const [way, ask] of Object.entries(WAYS)) {
    test.each(['best', 'vendor/plain'])(`${way} completes the loop, at %s`, async (model) => {
      const messages: ChatCompletionMessageParam[] = [
        { role: 'system', content: SYSTEM },
        { role: 'user', content: QUESTION },
      ];
      for (let step = 0; step < 3; step++) {
        const message = await ask(bodyOf(model, messages));
        messages.push(message);
        for (const call of 'tool_calls' in message ? message.tool_calls! : []) {
          const { city } = JSON.parse(Object(call).function.arguments);
          messages.push({ role: 'tool', tool_call_id: call.id, content: `20 °C in ${city}` });
        }
      }
      messages.push({ role: 'user', content: 'Thanks!' });
      const last = await ask(bodyOf(model, messages));
      expect(last.content).toBe('You are welcome.');
      const { asked, text } = bench.upstream.requests.at(-1)!;
      expect(asked.system).toBe(SYSTEM);
      expect(asked.turns as unknown[]).toEqual(TURNS_THANKED);
      const isKept = !way.includes('nothing but');
      if (dialect === 'anthropic') expect(text.split('"type":"thinking"')).toHaveLength(isKept ? 4 : 1);
      if (dialect === 'gemini' && model === 'best')
        expect(text.includes('skip_thought_signature_validator')).toBe(!isKept);
    });
  }

  describe('the AI SDK', () => {
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => `20 °C in ${city}`,
    });
    const call = (model: string) => ({
      model: createOpenAICompatible({ name: 'signalbox', apiKey: bench.box.key, baseURL: bench.baseURL })(model),
      instructions: SYSTEM,
      prompt: QUESTION,
      tools: { weather },
      stopWhen: isStepCount(5),
      maxOutputTokens: 3_000,
      maxRetries: 0,
      providerOptions: { signalbox: { reasoningEffort: 'low' } },
    });

    test.each(['best', 'vendor/plain'])('comes through, at %s', async (model) => {
      const { text, steps } = await generateText(call(model));
      expect(text).toBe('In Rome.');
      expect(steps.map(({ reasoningText }) => reasoningText)).toEqual(['Two to begin with.', 'And one more.', 'So.']);
      const streamed = streamText(call(model));
      expect((await Array.fromAsync(streamed.textStream)).join('')).toBe('In Rome.');
      const { asked, text: sent } = bench.upstream.requests.at(-1)!;
      expect(asked.turns as unknown[]).toEqual(TURNS_ANSWERED.slice(0, -1));
      // The client keeps the signatures of calls but drops Claude's thoughts, and Claude continues without them.
      expect(sent).not.toContain('skip_thought_signature_validator');
      expect(sent).not.toContain('"type":"thinking"');
    });
  });
});
