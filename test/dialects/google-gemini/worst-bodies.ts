import { wrappedSignature } from '../../../src/dialects/google-gemini/signature.ts';
import { type Bodies, list, members } from '../../holes/worst/requests.ts';

const HELLO = { role: 'user', parts: [{ text: 'Hello' }] };
const TEXT = { text: 'x' };
const IMAGE = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
const said = (contents: readonly object[], rest: object = {}) => ({ model: 'auto', contents, ...rest });
const call = (id: string | undefined, name = 'look') => ({ functionCall: { ...(id && { id }), name, args: {} } });
const result = (id: string | undefined, name = 'look', response: object = { output: 'found' }) => ({
  functionResponse: { ...(id && { id }), name, response },
});
const answered = (calls: readonly object[], results: readonly object[], rest: object = {}) =>
  said([HELLO, { role: 'model', parts: calls }, { role: 'user', parts: results }], rest);

export const BODIES: Bodies = {
  contents: (parts) => said(list(parts, () => HELLO)),
  texts: (parts) => said([{ parts: list(parts, () => TEXT) }]),
  images: (parts) => said([{ parts: list(parts, () => IMAGE) }]),
  'a long image': (parts) => said([{ parts: [{ inlineData: { mimeType: 'image/png', data: '-_'.repeat(parts) } }] }]),
  'calls and results with IDs': (parts) =>
    answered(
      list(parts, (at) => call(`c${at}`)),
      list(parts, (at) => result(`c${at}`)),
    ),
  'calls and results with IDs, in reverse': (parts) =>
    answered(
      list(parts, (at) => call(`c${at}`)),
      list(parts, (at) => result(`c${parts - 1 - at}`)),
    ),
  'calls and results by name': (parts) =>
    answered(
      list(parts, (at) => call(undefined, `f${at}`)),
      list(parts, (at) => result(undefined, `f${parts - 1 - at}`)),
    ),
  'results of no call': (parts) => said([HELLO, { parts: list(parts, (at) => result(undefined, `f${at}`)) }]),
  'results and texts in turn': (parts) =>
    answered(
      list(parts, (at) => call(`c${at}`)),
      list(parts, (at) => [result(`c${at}`), TEXT]).flat(),
    ),
  'turns of a call and its result': (parts) =>
    said([
      HELLO,
      ...list(parts, (at) => [
        { role: 'model', parts: [call(`c${at}`)] },
        { role: 'user', parts: [result(`c${at}`)] },
      ]).flat(),
    ]),
  thoughts: (parts) =>
    said([HELLO, { role: 'model', parts: list(parts, () => ({ text: 'hm', thought: true })) }, HELLO]),
  'wrapped state of calls': (parts) =>
    answered(
      list(parts, (at) => ({
        ...call(`c${at}`),
        thoughtSignature: wrappedSignature({ calls: { [`c${at}`]: { google: { thought_signature: 'x' } } } }),
      })),
      list(parts, (at) => result(`c${at}`)),
    ),
  'a long signature': (parts) =>
    said([
      HELLO,
      { role: 'model', parts: [{ ...TEXT, thoughtSignature: `c2lnbmFsYm94LXN0${'-'.repeat(parts)}` }] },
      HELLO,
    ]),
  functions: (parts) => said([HELLO], { tools: [{ functionDeclarations: list(parts, (at) => ({ name: `f${at}` })) }] }),
  'tools of one function': (parts) =>
    said([HELLO], { tools: list(parts, (at) => ({ functionDeclarations: [{ name: `f${at}` }] })) }),
  'allowed functions': (parts) =>
    said([HELLO], {
      tools: [{ functionDeclarations: list(parts, (at) => ({ name: `f${at}` })) }],
      toolConfig: {
        functionCallingConfig: { mode: 'ANY', allowedFunctionNames: list(parts, (at) => `f${at}`) },
      },
    }),
  'a schema of many properties': (parts) =>
    said([HELLO], {
      generationConfig: {
        responseMimeType: 'application/json',
        responseSchema: { type: 'OBJECT', properties: members(parts, () => ({ type: 'STRING', nullable: true })) },
      },
    }),
  'names in snake case': (parts) =>
    said([{ parts: list(parts, () => ({ inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } })) }]),
  'unknown fields': (parts) =>
    said(
      [HELLO],
      members(parts, () => 1),
    ),
  'unknown settings': (parts) => said([HELLO], { generationConfig: members(parts, () => 1) }),
};

/** Each body is one of `:embedContent` and one of `:batchEmbedContents`. */
const embedded = (text: string, requests: readonly object[], rest: object = {}) => ({
  ...rest,
  model: 'auto',
  content: { parts: [{ text }] },
  requests,
});
/** A request may have at most this many texts. */
const TEXTS_MAX = 2_048;
const request = (text: string, rest: object = {}) => ({ content: { parts: [{ text }] }, ...rest });

export const EMBED_BODIES: Bodies = {
  'a long text': (parts) => embedded('x y. '.repeat(parts), [request('é中'.repeat(parts))]),
  texts: (parts) =>
    embedded(
      'x',
      list(TEXTS_MAX, () => request('word '.repeat(Math.ceil(parts / TEXTS_MAX)), { taskType: 'X' })),
    ),
  'unknown members': (parts) =>
    embedded(
      'x',
      [
        request(
          'x',
          members(parts, () => 1),
        ),
      ],
      members(parts, () => 1),
    ),
};
