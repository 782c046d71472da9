import { wrapState } from '../../../src/core/request/wrapped-state.ts';
import { type Bodies, list, members } from '../../holes/worst/requests.ts';

const HELLO = { role: 'user', content: 'Hello' };
const said = (messages: readonly object[], rest: object = {}) => ({
  model: 'auto',
  max_tokens: 100,
  messages,
  ...rest,
});
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const TEXT = { type: 'text', text: 'x' };
const use = (id: string, name = 'look') => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, content: unknown = 'found') => ({ type: 'tool_result', tool_use_id: id, content });
const tool = (name: string) => ({ name, input_schema: { type: 'object' } });

/** A message with many calls, and a message that answers them. */
const answered = (parts: number, answer: (at: number) => readonly object[], rest: object = {}) =>
  said([
    HELLO,
    { role: 'assistant', content: list(parts, (at) => use(`call${at}`, `f${at}`)) },
    { role: 'user', content: list(parts, answer).flat(), ...rest },
  ]);

const stateOfCall = (at: number) => wrapState({ calls: { [`call${at}`]: { google: { thought_signature: 'x' } } } });

export const BODIES: Bodies = {
  messages: (parts) => said(list(parts, () => HELLO)),
  texts: (parts) => said([{ role: 'user', content: list(parts, () => TEXT) }]),
  images: (parts) => said([{ role: 'user', content: list(parts, () => IMAGE) }]),
  'results with images': (parts) => answered(parts, (at) => [result(`call${at}`, [IMAGE])]),
  'results and images in turn': (parts) => answered(parts, (at) => [result(`call${at}`), IMAGE]),
  'results and texts in turn': (parts) => answered(parts, (at) => [result(`call${at}`), TEXT]),
  'results and blocks of the dialect in turn': (parts) =>
    answered(parts, (at) => [result(`call${at}`), { type: 'search_result', title: 'x' }]),
  'a result of texts and images': (parts) =>
    answered(1, () => [
      result(
        'call0',
        list(parts, (at) => (at % 2 === 0 ? TEXT : IMAGE)),
      ),
    ]),
  'a message in pieces with unknown members': (parts) =>
    answered(
      parts,
      (at) => [result(`call${at}`), TEXT],
      members(parts, () => 1),
    ),
  'calls of as many tools': (parts) => ({
    ...answered(parts, (at) => [result(`call${at}`)]),
    tools: list(parts, (at) => tool(`f${at}`)),
  }),
  'calls with one ID': (parts) =>
    said([
      HELLO,
      { role: 'assistant', content: list(parts, () => use('same')) },
      { role: 'user', content: list(parts, () => result('same')) },
    ]),
  'turns of a call and its result': (parts) =>
    said([
      HELLO,
      ...list(parts, (at) => [
        { role: 'assistant', content: [use(`call${at}`)] },
        { role: 'user', content: [result(`call${at}`)] },
      ]).flat(),
    ]),
  thoughts: (parts) =>
    said([
      HELLO,
      {
        role: 'assistant',
        content: list(parts, () => [{ type: 'thinking', thinking: 'hm', signature: 's' }, TEXT]).flat(),
      },
      HELLO,
    ]),
  'reasoning with state of calls': (parts) =>
    said([
      HELLO,
      {
        role: 'assistant',
        content: list(parts, (at) => [{ type: 'redacted_thinking', data: stateOfCall(at) }, use(`call${at}`)]).flat(),
      },
      { role: 'user', content: list(parts, (at) => result(`call${at}`)) },
    ]),
  'reasoning with a state of many entries': (parts) =>
    said([
      HELLO,
      {
        role: 'assistant',
        content: [
          {
            type: 'redacted_thinking',
            data: wrapState({ details: list(parts, () => ({ type: 'reasoning.text', text: 'x' })) }),
          },
          TEXT,
        ],
      },
      HELLO,
    ]),
  'documents of texts': (parts) =>
    said([
      { role: 'user', content: [{ type: 'document', source: { type: 'content', content: list(parts, () => TEXT) } }] },
    ]),
  documents: (parts) =>
    said([
      {
        role: 'user',
        content: list(parts, () => ({
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'x' },
        })),
      },
    ]),
  'blocks of the dialect': (parts) =>
    said([{ role: 'user', content: list(parts, () => ({ type: 'search_result', title: 'x', source: 'y' })) }]),
  'tools added by blocks': (parts) =>
    said([
      {
        role: 'user',
        content: list(parts, () => ({
          type: 'tool_addition',
          tool: { definition: { type: 'bash_20250124', name: 'bash' } },
        })),
      },
    ]),
  'tools added by a summary': (parts) =>
    said([
      {
        role: 'user',
        content: [
          {
            type: 'compaction',
            tool_changes: list(parts, () => ({
              type: 'tool_addition',
              tool: { definition: { type: 'web_search_20250305' } },
            })),
          },
        ],
      },
    ]),
  'tools of the service': (parts) =>
    said([HELLO], { tools: list(parts, (at) => ({ type: `kind${at}_20250305`, name: 'x' })) }),
  'texts of the system': (parts) => said([HELLO], { system: list(parts, () => TEXT) }),
  'cache marks': (parts) =>
    said([
      { role: 'user', content: list(parts, () => ({ ...TEXT, cache_control: { type: 'ephemeral', ttl: '1h' } })) },
    ]),
  'unknown fields': (parts) =>
    said(
      [HELLO],
      members(parts, () => 1),
    ),
  'unknown members of messages': (parts) => said(list(parts, (at) => ({ ...HELLO, [`member${at}`]: 1 }))),
  'unknown members of blocks': (parts) =>
    said([{ role: 'user', content: list(parts, (at) => ({ ...TEXT, [`member${at}`]: 1 })) }]),
  'unknown members of settings': (parts) => said([HELLO], { output_config: members(parts, () => 1) }),
  'edits of the context': (parts) =>
    said([HELLO], { context_management: { edits: list(parts, () => ({ type: 'compact_20260112' })) } }),
  metadata: (parts) => said([HELLO], { metadata: members(parts, () => 'x') }),
};
