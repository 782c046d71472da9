import type { Json } from '../../plugins/providers/json.ts';
import { isObject, listOf, objectOf } from '../../plugins/providers/json.ts';
import { tokenWeight } from '../../src/core/request/tokens.ts';
import { type AnswerPart, CHAT, type UnmeteredDialect } from './unmetered.ts';

/** Services whose answers have members that no dialect of the gateway has, so that no caller gets everything. */

const STATE = /^(?:data|signature|thoughtSignature|thought_signature)$/;
const FRAME = /^(?:type|role|name|object|(?:\w+_)?id|responseId|mimeType|finishReason|finish_reason|modelVersion)$/;

/** The number of tokens of the texts in a value. */
function weightOf(value: unknown, name = ''): number {
  if (FRAME.test(name)) return 0;
  if (typeof value === 'string') return STATE.test(name) ? value.length / 4 : tokenWeight(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + weightOf(one), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce((sum, [member, one]) => sum + weightOf(one, member), 0);
}

interface Hidden {
  readonly delta?: Json;
  readonly choice?: Json;
  readonly chunk?: Json;
}

/** What a chunk has for a part, by the kind of the part: members of the delta, of the choice, or of the chunk itself. */
const CHUNKS: Readonly<Record<string, (pieces: readonly string[], state: string) => Hidden[]>> = {
  text: (pieces) => pieces.map((content) => ({ delta: { content } })),
  'unknown member': (pieces) => pieces.map((stroke) => ({ delta: { painting: { stroke } } })),
  'known member of another form': (pieces) => pieces.map((stroke) => ({ delta: { refusal: { stroke } } })),
  'unknown content part': (pieces) => pieces.map((stroke) => ({ delta: { content: [{ type: 'painting', stroke }] } })),
  'thinking as a text': (pieces) =>
    pieces.map((thinking) => ({ delta: { content: [{ type: 'thinking', thinking }] } })),
  'second reasoning': (pieces) => pieces.map((reasoning) => ({ delta: { reasoning_content: 'hm', reasoning } })),
  'text in details': (pieces) =>
    pieces.map((text) => ({
      delta: { reasoning_content: 'hm', reasoning_details: [{ type: 'reasoning.text', text }] },
    })),
  'unknown member of a choice': (pieces) => pieces.map((stroke) => ({ choice: { stroke } })),
  'unknown member of a call': (pieces) =>
    pieces.map((stroke) => ({
      delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '' }, stroke }] },
    })),
  state: (_, data) => [{ delta: { reasoning_details: [{ type: 'reasoning.encrypted', data }] } }],
  'state of a call': (_, thought_signature) => [
    {
      delta: {
        tool_calls: [
          {
            index: 0,
            id: 'c',
            function: { name: 'look', arguments: '' },
            extra_content: { google: { thought_signature } },
          },
        ],
      },
    },
  ],
  'unknown state': (_, signature) => [{ delta: { painting: { signature } } }],
};

const chunksOf = (all: readonly AnswerPart[]): Json[] =>
  all.flatMap(({ kind, pieces, state }) =>
    CHUNKS[kind]!(pieces, state).map(({ delta = {}, choice = {} }) => ({
      id: 'x',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: null, ...choice }],
    })),
  );

/** Merges the chunks into one message, so that a JSON body has the same members as a stream. */
const asMembers = (all: readonly AnswerPart[]): Json => {
  const elements = chunksOf(all).flatMap(({ choices }) => listOf(choices));
  return {
    id: 'x',
    object: 'chat.completion',
    choices: [
      ...elements.map((element) => ({ ...objectOf(element), delta: undefined, message: objectOf(element).delta })),
      { index: 0, message: {}, finish_reason: 'stop' },
    ],
  };
};

export const HIDING_CHAT: UnmeteredDialect = {
  ...CHAT,
  kinds: Object.keys(CHUNKS),
  events: (all) => [
    ...chunksOf(all),
    { id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ],
  whole: asMembers,
  received: (events) =>
    events.reduce((sum, { choices }) => sum + listOf(choices).reduce<number>((all, one) => all + weightOf(one), 0), 0),
};

/** Parts of Gemini's content, by kind. */
const PARTS: Readonly<Record<string, (pieces: readonly string[], state: string) => Json[]>> = {
  text: (pieces) => pieces.map((text) => ({ text })),
  thought: (pieces) => pieces.map((text) => ({ text, thought: true })),
  call: (pieces) => [{ functionCall: { name: 'look', args: { at: pieces.join('') } } }],
  code: (pieces) => pieces.map((code) => ({ executableCode: { code } })),
  'result of code': (pieces) => pieces.map((output) => ({ codeExecutionResult: { output } })),
  'part of tomorrow': (pieces) => pieces.map((stroke) => ({ painting: { stroke } })),
  file: (_, data) => [{ inlineData: { mimeType: 'image/png', data } }],
  signature: (_, thoughtSignature) => [{ text: 'so', thoughtSignature }],
  sources: (pieces) => pieces.map((title) => ({ sources: title })),
};

const candidate = (all: readonly AnswerPart[], more: Json): Json => {
  const said = all.flatMap(({ kind, pieces, state }) => PARTS[kind]!(pieces, state));
  const parts = said.filter((part) => part.sources === undefined);
  const titles = said.flatMap(({ sources }) => (sources === undefined ? [] : [{ web: { title: sources } }]));
  const grounding = titles.length > 0 && { groundingMetadata: { groundingChunks: titles } };
  return { responseId: 'r', candidates: [{ index: 0, content: { role: 'model', parts }, ...grounding, ...more }] };
};

export const GEMINI: UnmeteredDialect = {
  name: 'Gemini',
  adapter: 'gemini',
  path: '',
  kinds: Object.keys(PARTS),
  request: () => ({}),
  events: (all) => [...all.map((one) => candidate([one], {})), candidate([], { finishReason: 'STOP' })],
  whole: (all) => candidate(all, { finishReason: 'STOP' }),
  received: (events) =>
    events.reduce((sum, { candidates }) => {
      const said = listOf(candidates).map(objectOf);
      return (
        sum + said.reduce((all, { content, groundingMetadata }) => all + weightOf([content, groundingMetadata]), 0)
      );
    }, 0),
  platform: () => null,
};
