import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type Drive, type Load, type Target, WEATHER } from '../modes.ts';

/**
 * Version 0.3 sends -1 for "none", which Anthropic's newer models refuse, too. Signalbox's page about LangChain therefore leaves both
 * parameters out.
 */
const invocationKwargs = { top_p: undefined, top_k: undefined };

/** LangChain's clients of OpenAI, in both dialects, and of Anthropic. The types come from the latest major version. */
export async function langchain(load: Load): Promise<Readonly<Record<string, Drive>>> {
  const { HumanMessage } = (await load('@langchain/core/messages')) as typeof import('@langchain/core/messages');
  const { tool } = (await load('@langchain/core/tools')) as typeof import('@langchain/core/tools');
  const { ChatOpenAI } = (await load('@langchain/openai')) as typeof import('@langchain/openai');
  const { ChatAnthropic } = (await load('@langchain/anthropic')) as typeof import('@langchain/anthropic');
  const { z } = (await load('zod')) as typeof import('zod');

  const drive = (modelOf: (target: Target) => BaseChatModel): Drive => ({
    text: async (target) => (await modelOf(target).invoke('Say hello.')).text,
    async stream(target) {
      const pieces = await Array.fromAsync(await modelOf(target).stream('Say hello.'));
      return pieces.reduce((all, piece) => all.concat(piece)).text;
    },
    async tools(target) {
      const weather = tool(async () => WEATHER, {
        name: 'weather',
        description: 'The weather of a city.',
        schema: z.object({ city: z.string() }),
      });
      const model = modelOf(target).bindTools?.([weather]);
      if (!model) throw new Error('it takes no tools');
      const question = new HumanMessage('How is the weather?');
      const asked = await model.invoke([question]);
      const results = (asked.tool_calls ?? []).map((call) => weather.invoke({ ...call, type: 'tool_call' }));
      return (await model.invoke([question, asked, ...(await Promise.all(results))])).text;
    },
    async structured(target) {
      const City = z.object({ name: z.string(), people: z.number() });
      return modelOf(target).withStructuredOutput(City, { name: 'city' }).invoke('Which city?');
    },
  });
  const openai = (useResponsesApi: boolean) =>
    drive(
      ({ url, key, model }) =>
        new ChatOpenAI({ model, useResponsesApi, apiKey: key, configuration: { baseURL: `${url}/v1` }, maxRetries: 0 }),
    );
  return {
    chat: openai(false),
    Messages: drive(
      ({ url, key, model }) =>
        new ChatAnthropic({
          model,
          apiKey: key,
          anthropicApiUrl: url,
          maxTokens: 1_000,
          maxRetries: 0,
          invocationKwargs,
        }),
    ),
    Responses: openai(true),
  };
}
