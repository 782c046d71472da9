import { wrapState } from '../../../src/core/request/wrapped-state.ts';
import { type Bodies, list, members } from '../../holes/worst/requests.ts';

const HELLO = { role: 'user', content: 'Hello' };
const asked = (input: readonly object[], rest: object = {}) => ({ model: 'auto', input, ...rest });
const call = (id: string, name: string, rest: object = {}) => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: '{}',
  ...rest,
});
const output = (id: string, content: unknown = 'found') => ({
  type: 'function_call_output',
  call_id: id,
  output: content,
});
const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object' } });
const TEXT = { type: 'input_text', text: 'x' };
const IMAGE = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };

const answered = (parts: number, name: (at: number) => string, rest: object = {}, ofCall: object = {}) =>
  asked(
    [HELLO, ...list(parts, (at) => call(`call${at}`, name(at), ofCall)), ...list(parts, (at) => output(`call${at}`))],
    rest,
  );

/** Namespaces whose tools have the same names, so that each tool needs a generated name. */
const namespaces = (parts: number) =>
  ['left', 'right'].map((name) => ({ type: 'namespace', name, tools: list(parts, (at) => tool(`f${at}`)) }));

export const BODIES: Bodies = {
  messages: (parts) => asked(list(parts, () => HELLO)),
  texts: (parts) => asked([{ role: 'user', content: list(parts, () => TEXT) }]),
  'messages of an answer': (parts) =>
    asked([HELLO, ...list(parts, () => ({ role: 'assistant', content: 'so' })), HELLO]),
  'calls of as many tools': (parts) =>
    answered(parts, (at) => `f${at}`, { tools: list(parts, (at) => tool(`f${at}`)) }),
  'calls of other tools than are offered': (parts) =>
    answered(parts, (at) => `g${at}`, { tools: list(parts, (at) => tool(`f${at}`)) }),
  'calls of tools in namespaces': (parts) =>
    answered(parts, (at) => `f${at}`, { tools: namespaces(parts) }, { namespace: 'right' }),
  'calls of custom tools': (parts) =>
    asked(
      [
        HELLO,
        ...list(parts, (at) => ({ type: 'custom_tool_call', call_id: `call${at}`, name: `f${at}`, input: 'x' })),
        ...list(parts, (at) => ({ type: 'custom_tool_call_output', call_id: `call${at}`, output: 'found' })),
      ],
      { tools: list(parts, (at) => ({ type: 'custom', name: `f${at}` })) },
    ),
  'calls with one ID': (parts) =>
    asked([HELLO, ...list(parts, () => call('same', 'f')), ...list(parts, () => output('same'))]),
  'outputs with images': (parts) =>
    asked([
      HELLO,
      ...list(parts, (at) => call(`call${at}`, 'f')),
      ...list(parts, (at) => output(`call${at}`, [TEXT, IMAGE])),
    ]),
  'turns of a call and its output': (parts) =>
    asked([HELLO, ...list(parts, (at) => [call(`call${at}`, 'f'), output(`call${at}`)]).flat()]),
  'reasoning with state of calls': (parts) =>
    asked([
      HELLO,
      ...list(parts, (at) => [
        { type: 'reasoning', summary: [], encrypted_content: wrapState({ calls: { [`call${at}`]: { google: {} } } }) },
        call(`call${at}`, 'f'),
      ]).flat(),
      ...list(parts, (at) => output(`call${at}`)),
    ]),
  'reasoning of the service': (parts) =>
    asked([
      HELLO,
      ...list(parts, (at) => [
        { type: 'reasoning', id: `rs_${at}`, summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'x' },
        { role: 'assistant', content: 'so' },
      ]).flat(),
      HELLO,
    ]),
  'reasoning with many summaries': (parts) =>
    asked([
      HELLO,
      { type: 'reasoning', summary: list(parts, () => ({ type: 'summary_text', text: 'hm' })), encrypted_content: 'x' },
      { role: 'assistant', content: 'so' },
      HELLO,
    ]),
  'items of the dialect': (parts) =>
    asked([HELLO, ...list(parts, () => ({ type: 'web_search_call', status: 'completed' }))]),
  'outputs of the dialect': (parts) =>
    asked([HELLO, ...list(parts, () => ({ type: 'local_shell_call_output', output: 'x' }))]),
  'tools added by items': (parts) =>
    asked(list(parts, (at) => ({ type: 'additional_tools', tools: [{ type: `kind${at}` }] }))),
  'tools of the service': (parts) => asked([HELLO], { tools: list(parts, (at) => ({ type: `kind${at}` })) }),
  'unknown fields': (parts) =>
    asked(
      [HELLO],
      members(parts, () => 1),
    ),
  'unknown members of messages': (parts) => asked(list(parts, (at) => ({ ...HELLO, [`member${at}`]: 1 }))),
  'unknown members of the messages of an answer': (parts) =>
    asked([HELLO, ...list(parts, (at) => ({ role: 'assistant', content: 'so', [`member${at}`]: 1 })), HELLO]),
  'unknown members of parts': (parts) =>
    asked([{ role: 'user', content: list(parts, (at) => ({ ...TEXT, [`member${at}`]: 1 })) }]),
  'unknown members of settings': (parts) =>
    asked([HELLO], { text: members(parts, () => 1), reasoning: members(parts, () => 1) }),
  includes: (parts) => asked([HELLO], { include: list(parts, (at) => `include ${at}`) }),
  metadata: (parts) => asked([HELLO], { metadata: members(parts, () => 'x') }),
};
