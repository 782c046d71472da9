import type { LanguageModel } from 'ai';
import { type Drive, type Load, type Target, WEATHER } from '../modes.ts';

const prompt = 'Say hello.';
/** As the page about the SDK says. */
const providerOptions = { openai: { store: false } };

/**
 * Drives the AI SDK with its providers of each dialect. The types come from the latest major version; older versions have everything that
 * this file uses.
 */
export async function aiSdk(load: Load): Promise<Readonly<Record<string, Drive>>> {
  const { generateObject, generateText, streamText, tool } = (await load('ai')) as typeof import('ai');
  const { z } = (await load('zod')) as typeof import('zod');
  const compatible = (await load('@ai-sdk/openai-compatible')) as typeof import('@ai-sdk/openai-compatible');
  const { createAnthropic } = (await load('@ai-sdk/anthropic')) as typeof import('@ai-sdk/anthropic');
  const { createOpenAI } = (await load('@ai-sdk/openai')) as typeof import('@ai-sdk/openai');
  // Without this setting, `generateObject` warns that it is deprecated.
  globalThis.AI_SDK_LOG_WARNINGS = false;

  const drive = (model: (target: Target) => LanguageModel): Drive => {
    const call = (target: Target) => ({
      model: model(target),
      prompt,
      maxRetries: 0,
      maxOutputTokens: 1_000,
      providerOptions,
    });
    const weather = tool({
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: async () => WEATHER,
    });
    return {
      text: async (target) => (await generateText(call(target))).text,
      async stream(target) {
        const errors: unknown[] = [];
        const { textStream } = streamText({ ...call(target), onError: ({ error }) => void errors.push(error) });
        const text = (await Array.fromAsync(textStream)).join('');
        if (errors.length > 0) throw errors[0];
        return text;
      },
      async tools(target) {
        const loop = { ...call(target), tools: { weather } };
        return (await generateText({ ...loop, stopWhen: ({ steps }) => steps.length === 2 })).text;
      },
      structured: async (target) =>
        (await generateObject({ ...call(target), schema: z.object({ name: z.string(), people: z.number() }) })).object,
    };
  };
  const at = ({ url, key }: Target) => ({ baseURL: `${url}/v1`, apiKey: key });
  return {
    chat: drive((target) =>
      compatible.createOpenAICompatible({ name: 'signalbox', supportsStructuredOutputs: true, ...at(target) })(
        target.model,
      ),
    ),
    Messages: drive((target) => createAnthropic(at(target))(target.model)),
    Responses: drive((target) => createOpenAI(at(target)).responses(target.model)),
  };
}
