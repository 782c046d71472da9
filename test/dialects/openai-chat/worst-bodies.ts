import { type Bodies, list, members, PNG } from '../../holes/worst/requests.ts';

const HELLO = { role: 'user', content: 'Hello' };
const chat = (messages: readonly object[], rest: object = {}) => ({ model: 'auto', messages, ...rest });
const call = (id: string, name = 'look', args = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'found' });
const calling = (calls: readonly object[], rest: object = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
  ...rest,
});
const tool = (name: string, parameters: object = { type: 'object' }) => ({
  type: 'function',
  function: { name, parameters },
});
const format = (schema: object) =>
  chat([HELLO], { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } });

/** Reasoning, as the answer of a service contained it. */
const THOUGHTS = {
  anthropic: (at: number) => ({
    type: 'reasoning.text',
    format: 'anthropic-claude-v1',
    text: 'hm',
    signature: 's',
    index: at,
    id: `thought-${at}-${at * 2}-${at}`,
  }),
  openai: (at: number) => ({
    type: 'reasoning.encrypted',
    format: 'openai-responses-v1',
    data: 'x',
    id: `rs_${at}`,
    index: at,
  }),
  gemini: (at: number) => ({ type: 'reasoning.encrypted', format: 'google-gemini-v1', data: 'x', id: `call${at}` }),
} as const;

/** An answer with many texts and calls, with reasoning before each. */
function thoughtful(parts: number, thought: (at: number) => object): object {
  const answer = {
    role: 'assistant',
    content: list(parts, () => ({ type: 'text', text: 'so' })),
    tool_calls: list(parts, (at) => call(`call${at}`)),
    reasoning_details: list(parts, thought),
  };
  return chat([HELLO, answer, ...list(parts, (at) => result(`call${at}`))]);
}

export const BODIES: Bodies = {
  messages: (parts) => chat(list(parts, () => HELLO)),
  'system messages': (parts) => chat([...list(parts, () => ({ role: 'system', content: 'Be brief.' })), HELLO]),
  'instructions between words': (parts) =>
    chat(list(parts, (at) => ({ role: at % 2 === 0 ? 'system' : 'user', content: 'Be brief.' }))),
  texts: (parts) => chat([{ role: 'user', content: list(parts, () => ({ type: 'text', text: 'x' })) }]),
  images: (parts) =>
    chat([{ role: 'user', content: list(parts, () => ({ type: 'image_url', image_url: { url: PNG } })) }]),
  'one long text': (parts) => chat([{ role: 'user', content: 'x y. '.repeat(parts) }]),
  'one image of many bytes': (parts) =>
    chat([
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `${PNG.slice(0, -1)}${'A'.repeat(parts)}!` } }],
      },
    ]),
  'an address with many dots': (parts) =>
    chat([
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `https://a.example/${'.a'.repeat(parts)}!` } }],
      },
    ]),
  names: (parts) => chat(list(parts, (at) => ({ ...HELLO, name: `n${at}` }))),
  'calls of as many tools': (parts) =>
    chat(
      [HELLO, calling(list(parts, (at) => call(`call${at}`, `f${at}`))), ...list(parts, (at) => result(`call${at}`))],
      {
        tools: list(parts, (at) => tool(`f${at}`)),
      },
    ),
  'calls with one ID': (parts) =>
    chat([HELLO, calling(list(parts, () => call('same'))), ...list(parts, () => result('same'))]),
  'IDs that look like generated IDs': (parts) =>
    chat([
      HELLO,
      calling([...list(parts, (at) => call(`same_${at}`)), ...list(parts, () => call('same'))]),
      ...list(parts, (at) => result(`same_${at}`)),
      ...list(parts, () => result('same')),
    ]),
  'turns of a call and its result': (parts) =>
    chat([HELLO, ...list(parts, (at) => [calling([call(`call${at}`)]), result(`call${at}`)]).flat()]),
  'older calls': (parts) =>
    chat([
      HELLO,
      ...list(parts, (at) => [
        { role: 'assistant', content: null, function_call: { name: `f${at}`, arguments: '{}' } },
        { role: 'function', name: `f${at}`, content: 'found' },
      ]).flat(),
    ]),
  'arguments with many members': (parts) =>
    chat([HELLO, calling([call('one', 'look', JSON.stringify(members(parts, () => 1)))]), result('one')]),
  'arguments with many escapes': (parts) =>
    chat([HELLO, calling([call('one', 'look', `{"a":"${'\\"'.repeat(parts)}`)]), result('one')]),
  'thoughts of Anthropic’s': (parts) => thoughtful(parts, THOUGHTS.anthropic),
  'thoughts of OpenAI’s': (parts) => thoughtful(parts, THOUGHTS.openai),
  'thoughts of Google’s': (parts) => thoughtful(parts, THOUGHTS.gemini),
  'messages with a thought': (parts) =>
    chat([
      HELLO,
      ...list(parts, (at) => ({ role: 'assistant', content: 'so', reasoning_details: [THOUGHTS.anthropic(at)] })),
      HELLO,
    ]),
  'cache marks': (parts) =>
    chat([
      { role: 'user', content: list(parts, () => ({ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } })) },
    ]),
  'unknown fields': (parts) =>
    chat(
      [HELLO],
      members(parts, () => 1),
    ),
  'unknown members of messages': (parts) => chat(list(parts, (at) => ({ ...HELLO, [`member${at}`]: 1 }))),
  'unknown members of a message': (parts) => chat([{ ...HELLO, ...members(parts, () => 1) }]),
  'null members': (parts) => chat(list(parts, () => ({ ...HELLO, name: null, tool_calls: null }))),
  metadata: (parts) => chat([HELLO], { metadata: members(parts, () => 'x') }),
  biases: (parts) => chat([HELLO], { logit_bias: Object.fromEntries(list(parts, (at) => [String(at), 1])) }),
  tools: (parts) => chat([HELLO], { tools: list(parts, (at) => tool(`f${at}`)), tool_choice: 'required' }),
  'a tool with many properties': (parts) =>
    chat([HELLO], { tools: [tool('f', { type: 'object', properties: members(parts, () => ({ type: 'string' })) })] }),
  'a schema with many properties': (parts) =>
    format({ type: 'object', properties: members(parts, () => ({ type: 'string', minLength: 1 })) }),
  'a schema with many choices': (parts) => format({ anyOf: list(parts, () => ({ type: 'string', enum: ['a'] })) }),
  'a schema with many values': (parts) => format({ enum: list(parts, (at) => `value ${at}`) }),
  'a schema with a chain of references': (parts) =>
    format({
      $ref: '#/$defs/member0',
      $defs: members(parts, (at) => ({ $ref: `#/$defs/member${at + 1}`, description: 'x' })),
    }),
  'a schema with many references to one definition': (parts) =>
    format({
      type: 'object',
      properties: members(parts, () => ({ $ref: '#/$defs/one', description: 'x' })),
      $defs: { one: { type: 'object', properties: members(parts, () => ({ type: 'string' })) } },
    }),
  'a reference with many steps': (parts) => format({ $ref: `#${'/$defs'.repeat(parts)}`, $defs: {} }),
};
