import { type Drive, type Load, type Target, WEATHER } from '../modes.ts';

/** The OpenAI Agents SDK, in both of its dialects. */
export async function agents(load: Load): Promise<Readonly<Record<string, Drive>>> {
  const { Agent, OpenAIProvider, Runner, tool } = (await load('@openai/agents')) as typeof import('@openai/agents');
  const { default: OpenAI } = (await load('openai')) as typeof import('openai');
  const { z } = (await load('zod')) as typeof import('zod');
  const weather = tool({
    name: 'weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: async () => WEATHER,
  });
  const City = z.object({ name: z.string(), people: z.number() });
  const agent = { name: 'Helper', instructions: 'Be brief.' };

  const drive = (useResponses: boolean): Drive => {
    const runnerOf = ({ url, key }: Target) => {
      const openAIClient = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
      // The SDK would send traces to OpenAI.
      return new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses }), tracingDisabled: true });
    };
    return {
      text: async (target) =>
        (await runnerOf(target).run(new Agent({ ...agent, model: target.model }), 'Say hello.')).finalOutput,
      async stream(target) {
        const plain = new Agent({ ...agent, model: target.model });
        const run = await runnerOf(target).run(plain, 'Say hello.', { stream: true });
        const text = (await Array.fromAsync(run.toTextStream())).join('');
        await run.completed;
        return text;
      },
      async tools(target) {
        const asking = new Agent({ ...agent, model: target.model, tools: [weather] });
        return (await runnerOf(target).run(asking, 'How is the weather?')).finalOutput;
      },
      async structured(target) {
        const forming = new Agent({ ...agent, model: target.model, outputType: City });
        return (await runnerOf(target).run(forming, 'Which city?')).finalOutput;
      },
    };
  };
  return { chat: drive(false), Responses: drive(true) };
}
