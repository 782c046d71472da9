import { beforeEach, describe, expect, test } from 'bun:test';
import type { Json } from '../../plugins/providers/json.ts';
import type { Platform } from '../../src/core/decision/answer.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** During a tool loop, a selector chooses only models that can read the reasoning. After the loop, the selector may choose any model. */
const claude = useUpstream({ dialect: 'anthropic' });
const gemini = useUpstream({ dialect: 'gemini' });
const plain = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    {
      claude: { url: claude.url, adapter: 'anthropic' },
      gemini: { url: gemini.url, adapter: 'gemini' },
      plain: plain.url,
    },
    {
      thinker: { endpoints: ['claude'], quality: 0.9 },
      googler: { endpoints: ['gemini'], quality: 0.85 },
      cheap: { endpoints: ['plain'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
    },
    'gateway: { retries_max: 0 }\n',
  )
    .replaceAll('[tools, json_schema]', '[tools, json_schema, reasoning]')
    .replaceAll('thinker-upstream', 'claude-haiku-5-5')
    .replaceAll('googler-upstream', 'gemini-3.8-flash'),
}));
const UPSTREAMS = { thinker: claude, googler: gemini } as const;

beforeEach(() => {
  for (const upstream of [claude, gemini, plain]) upstream.behave({ text: 'Done.' });
});

const tools = [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }];
const CHEAPEST = { model: 'auto', route_strategy: { cost_weight: 1, quality_weight: 0 } };
const ask = (messages: readonly Json[], more: object) =>
  box.post('/v1/messages', { max_tokens: 2_000, thinking: { type: 'adaptive' }, tools, messages, ...more });

/** A conversation whose last answer has reasoning, and calls a tool. */
async function begun(model: keyof typeof UPSTREAMS, question: string): Promise<readonly Json[]> {
  UPSTREAMS[model].next({ reasoning: 'I must look.', toolCalls: [{ name: 'look', arguments: '{}' }] });
  const asked = { role: 'user', content: question };
  const { content } = (await (await ask([asked], { model })).json()) as { content: readonly Json[] };
  expect(content.map(({ type }) => type)).toEqual(['thinking', 'tool_use']);
  return [asked, { role: 'assistant', content }];
}

function resultOf(messages: readonly Json[], beside: readonly Json[] = []): Json {
  const { content } = messages.at(-1) as { content: readonly Json[] };
  return {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: content.at(-1)!.id, content: 'It is dark.' }, ...beside],
  };
}

const platformOf = async (answer: Response) => ((await answer.json()) as { platform: Platform }).platform;

describe.each(['thinker', 'googler'] as const)('a tool loop that %s began', (model) => {
  test('a tool loop continues at a model that reads its reasoning, also with text next to the result', async () => {
    const messages = await begun(model, `Look around, ${model}.`);
    const words = { type: 'text', text: 'Hurry up.' };
    for (const result of [resultOf(messages), resultOf(messages, [words])]) {
      const answer = await ask([...messages, result], CHEAPEST);
      expect(await platformOf(answer)).toMatchObject({ routed_model: model, dropped: [] });
      const kept = await box.get(`/v1/decisions/${answer.headers.get('x-signalbox-decision-id')}`);
      const reason = 'it cannot read the reasoning that belongs to the pending tool calls';
      expect(await kept.json()).toMatchObject({
        facts: { thought_readers: [model] },
        candidates: expect.arrayContaining([
          expect.objectContaining({
            model: 'cheap',
            rejections: [expect.objectContaining({ kind: 'thoughts', text: reason })],
          }),
        ]),
        replay: { matches: true },
      });
    }
  });

  test('with the next question the tool loop is over: any model may answer', async () => {
    const messages = await begun(model, `Look here, ${model}.`);
    const ended = [
      ...messages,
      resultOf(messages),
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'And now?' },
    ];
    const platform = await platformOf(await ask(ended, CHEAPEST));
    expect(platform).toMatchObject({
      routed_model: 'cheap',
      dropped: [expect.stringContaining('messages[1].content[0]')],
    });
  });

  test('a tool loop continues at the model that the caller names, without reasoning that this model cannot read', async () => {
    const messages = await begun(model, `Look there, ${model}.`);
    const platform = await platformOf(await ask([...messages, resultOf(messages)], { model: 'cheap' }));
    expect(platform).toMatchObject({ routed_model: 'cheap' });
  });

  test('if its model fails, a tool loop fails over to other models, without the reasoning', async () => {
    const messages = await begun(model, `Look up, ${model}.`);
    UPSTREAMS[model].next({ fail: 'overloaded' });
    const platform = await platformOf(await ask([...messages, resultOf(messages)], CHEAPEST));
    expect(platform).toMatchObject({
      routed_model: 'cheap',
      dropped: [expect.stringContaining('messages[1].content[0]')],
    });
    expect(platform.attempts.map((one) => one.model)).toEqual([model, 'cheap']);
  });
});

test('reasoning of unknown origin excludes no model', async () => {
  const state = `signalbox-state-1.${btoa('{"extra":{"a":1}}')}`;
  const messages = [
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: state },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
      ],
    },
  ];
  expect(await platformOf(await ask([...messages, resultOf(messages)], CHEAPEST))).toMatchObject({
    routed_model: 'cheap',
  });
});
