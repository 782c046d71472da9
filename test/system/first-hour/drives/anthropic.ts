import { type Drive, type Load, type Target, WEATHER } from '../modes.ts';

/** The official client of Anthropic Messages. */
export async function anthropic(load: Load): Promise<Readonly<Record<string, Drive>>> {
  const { default: Anthropic } = (await load('@anthropic-ai/sdk')) as typeof import('@anthropic-ai/sdk');
  const { zodOutputFormat } = (await load(
    '@anthropic-ai/sdk/helpers/zod',
  )) as typeof import('@anthropic-ai/sdk/helpers/zod');
  const { betaZodTool } = (await load(
    '@anthropic-ai/sdk/helpers/beta/zod',
  )) as typeof import('@anthropic-ai/sdk/helpers/beta/zod');
  const { z } = (await load('zod')) as typeof import('zod');
  const clientOf = ({ url, key }: Target) => new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
  const ask = ({ model }: Target) => ({
    model,
    max_tokens: 1_000,
    messages: [{ role: 'user' as const, content: 'Say hello.' }],
  });
  const textOf = (content: readonly { readonly type: string; readonly text?: string }[]): string =>
    content.map(({ type, text = '' }) => (type === 'text' ? text : '')).join('');
  return {
    Messages: {
      text: async (target) => textOf((await clientOf(target).messages.create(ask(target))).content),
      stream: (target) => clientOf(target).messages.stream(ask(target)).finalText(),
      async tools(target) {
        const weather = betaZodTool({
          name: 'weather',
          description: 'The weather of a city.',
          inputSchema: z.object({ city: z.string() }),
          run: () => WEATHER,
        });
        return textOf((await clientOf(target).beta.messages.toolRunner({ ...ask(target), tools: [weather] })).content);
      },
      async structured(target) {
        const format = zodOutputFormat(z.object({ name: z.string(), people: z.number() }));
        return (await clientOf(target).messages.parse({ ...ask(target), output_config: { format } })).parsed_output;
      },
    },
  };
}
