import { type Drive, type Load, type Target, WEATHER } from '../modes.ts';

const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

/**
 * The official client. The types come from the latest major version; older versions have everything that this file uses, some of it in
 * `beta`.
 */
export async function openai(load: Load): Promise<Readonly<Record<string, Drive>>> {
  const { default: OpenAI } = (await load('openai')) as typeof import('openai');
  const helpers = (await load('openai/helpers/zod')) as typeof import('openai/helpers/zod');
  const { z } = (await load('zod')) as typeof import('zod');
  const City = z.object({ name: z.string(), people: z.number() });
  const clientOf = ({ url, key }: Target) => new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
  /** Version 4 has the runners and parsers under another name. */
  const completionsOf = (target: Target) => {
    const { chat, beta } = clientOf(target);
    return typeof chat.completions.parse === 'function'
      ? chat.completions
      : (beta as unknown as { chat: typeof chat }).chat.completions;
  };

  const chat: Drive = {
    async text(target) {
      const { choices } = await clientOf(target).chat.completions.create({ model: target.model, messages });
      return choices[0]?.message.content;
    },
    async stream(target) {
      const chunks = await clientOf(target).chat.completions.create({ model: target.model, messages, stream: true });
      return (await Array.fromAsync(chunks)).map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    },
    tools: (target) =>
      completionsOf(target)
        .runTools({
          model: target.model,
          messages,
          tools: [
            {
              type: 'function',
              function: {
                name: 'weather',
                description: 'The weather.',
                parameters,
                parse: JSON.parse,
                function: async () => WEATHER,
              },
            },
          ],
        })
        .finalContent(),
    async structured(target) {
      const format = helpers.zodResponseFormat(City, 'city');
      const { choices } = await completionsOf(target).parse({ model: target.model, messages, response_format: format });
      return choices[0]?.message.parsed;
    },
  };
  const Responses: Drive = {
    text: async (target) =>
      (await clientOf(target).responses.create({ model: target.model, input: 'Hello?' })).output_text,
    async stream(target) {
      const events = await clientOf(target).responses.create({ model: target.model, input: 'Hello?', stream: true });
      const deltas = await Array.fromAsync(events);
      return deltas.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
    },
    async tools(target) {
      const { responses } = clientOf(target);
      const tool = { type: 'function' as const, name: 'weather', parameters, strict: false };
      const ask = { model: target.model, tools: [tool], store: false };
      const question = { role: 'user' as const, content: 'How is the weather?' };
      const { output } = await responses.create({ ...ask, input: [question] });
      const results = output.flatMap((item) =>
        item.type === 'function_call'
          ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: WEATHER }]
          : [],
      );
      const kept = output.filter(({ type }) => type === 'function_call' || type === 'reasoning');
      const input = [question, ...kept, ...results] as Parameters<typeof responses.create>[0]['input'];
      return (await responses.create({ ...ask, input, stream: false })).output_text;
    },
    async structured(target) {
      const format = helpers.zodTextFormat(City, 'city');
      const body = { model: target.model, input: 'Which city?', text: { format } };
      return (await clientOf(target).responses.parse(body)).output_parsed;
    },
  };
  return { chat, Responses };
}
