import { describe, expect, test } from 'bun:test';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import * as state from '../../../src/gateway/prompt/reasoning-state.ts';
import { chatRequest } from '../../support/model-request.ts';

const bearsState = (messages: ChatMessage[]) => state.bearsState(chatRequest({ messages }));
function readableMessages(messages: ChatMessage[], mayRead: (turn: number) => boolean) {
  const { request, dropped } = state.withReadableState(chatRequest({ messages }), mayRead);
  return { messages: request.original.body.messages as ChatMessage[], dropped };
}

const question: ChatMessage = { role: 'user', content: 'Which is the larger?' };
const answer = (more: object): ChatMessage => ({ role: 'assistant', content: 'The second.', ...more });
const call = (more: object, ofFunction: object = {}) => ({
  id: 'call_1',
  type: 'function',
  function: { name: 'compare', arguments: '{}', ...ofFunction },
  ...more,
});
const nobody = () => false;

/** The state as each dialect names it: the members of an answer, what is left of them, and the paths that are reported as dropped. */
const DIALECTS: Readonly<Record<string, { given: object; left: object; dropped: readonly string[] }>> = {
  'OpenRouter: encrypted and readable entries': {
    given: {
      reasoning: 'I compare.',
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'Comparing.', format: 'openai-responses-v1', index: 0 },
        { type: 'reasoning.encrypted', data: 'gAAAA…', format: 'openai-responses-v1', index: 1 },
      ],
    },
    left: {
      reasoning: 'I compare.',
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'Comparing.', format: 'openai-responses-v1', index: 0 },
      ],
    },
    dropped: ['messages[1].reasoning_details'],
  },
  'OpenRouter: signed text': {
    given: { reasoning_details: [{ type: 'reasoning.text', text: 'I compare.', signature: 'EqoB…' }] },
    left: {},
    dropped: ['messages[1].reasoning_details'],
  },
  'LiteLLM: Anthropic’s blocks': {
    given: {
      reasoning_content: 'I compare.',
      thinking_blocks: [
        { type: 'thinking', thinking: 'I compare.', signature: 'EqoB…' },
        { type: 'redacted_thinking', data: 'Emwk…' },
      ],
    },
    left: { reasoning_content: 'I compare.' },
    dropped: ['messages[1].thinking_blocks'],
  },
  'LiteLLM: Gemini’s signatures': {
    given: {
      provider_specific_fields: { thought_signatures: ['CoQB…'], citations: [1] },
      tool_calls: [call({ provider_specific_fields: { thought_signature: 'CoQB…' } })],
    },
    left: { provider_specific_fields: { citations: [1] }, tool_calls: [call({})] },
    dropped: [
      'messages[1].provider_specific_fields.thought_signatures',
      'messages[1].tool_calls[0].provider_specific_fields.thought_signature',
    ],
  },
  'Gemini: on the message and on a call': {
    given: {
      extra_content: { google: { thought_signature: 'CoQB…' } },
      tool_calls: [call({ extra_content: { google: { thought_signature: 'CoQB…' } } }), call({})],
    },
    left: { tool_calls: [call({}), call({})] },
    dropped: [
      'messages[1].extra_content.google.thought_signature',
      'messages[1].tool_calls[0].extra_content.google.thought_signature',
    ],
  },
  'OpenAI’s items, as LiteLLM passes them on': {
    given: { reasoning_items: [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAA…' }] },
    left: {},
    dropped: ['messages[1].reasoning_items'],
  },
  'a part of the content': {
    given: { content: [{ type: 'text', text: 'The second.', extra_content: { google: { thought_signature: 'C…' } } }] },
    left: { content: [{ type: 'text', text: 'The second.' }] },
    dropped: ['messages[1].content[0].extra_content.google.thought_signature'],
  },
  'the ID of a call': {
    given: { tool_calls: [{ ...call({}), id: 'call_1__thought__CoQB…' }] },
    left: { tool_calls: [call({})] },
    dropped: ['messages[1].tool_calls[0].id'],
  },
  'a call’s function': {
    given: { tool_calls: [call({}, { thought_signature: 'CoQB…' })] },
    left: { tool_calls: [call({})] },
    dropped: ['messages[1].tool_calls[0].function.thought_signature'],
  },
  'by itself': {
    given: { reasoning_signature: 'EqoB…', encrypted_content: 'gAAAA…', reasoning_opaque: 'x' },
    left: {},
    dropped: ['messages[1].reasoning_signature', 'messages[1].encrypted_content', 'messages[1].reasoning_opaque'],
  },
};

describe.each(Object.entries(DIALECTS))('%s', (_, { given, left, dropped }) => {
  const messages = [question, answer(given), question];

  test('signed state is recognized, and passed unchanged to a model that can read it', () => {
    expect(bearsState(messages)).toBe(true);
    const told = readableMessages(messages, () => true);
    expect(told.messages).toBe(messages);
    expect(told.dropped).toEqual([]);
  });

  test('signed state is removed for all other models and reported as dropped; nothing else changes', () => {
    const before = structuredClone(messages);
    const told = readableMessages(messages, nobody);
    expect(told.messages).toEqual([question, answer(left), question]);
    expect(told.dropped).toEqual([...dropped]);
    expect(bearsState(told.messages)).toBe(false);
    expect(messages).toEqual(before);
  });
});

test('if the ID of a call loses its state, the result of the tool refers to the shortened ID', () => {
  const id = 'call_1__thought__CoQB…';
  const calling = answer({ tool_calls: [{ ...call({}), id }] });
  const messages: ChatMessage[] = [question, calling, { role: 'tool', tool_call_id: id, content: '2' }];
  expect(readableMessages(messages, () => true).messages).toBe(messages);
  const [, , told] = readableMessages(messages, nobody).messages;
  expect(told).toEqual({ role: 'tool', tool_call_id: 'call_1', content: '2' });
  expect(messages[2]!.tool_call_id).toBe(id);
});

describe('messages that every model can read', () => {
  test('messages without state stay the same objects, and their writer is not looked up', () => {
    const messages = [
      question,
      answer({ reasoning_content: 'I compare.', reasoning: 'I compare.' }),
      answer({ reasoning_details: [{ type: 'reasoning.text', text: 'I compare.', signature: null }] }),
      answer({ reasoning_details: 'I compare.', thinking_blocks: [], thought_signature: null, extra_content: {} }),
      answer({ tool_calls: [call({ extra_content: { google: { cached: true } } })] }),
      // A member with this name in a caller's own message belongs to the caller.
      { ...question, thought_signature: 'x' },
    ];
    const told = readableMessages(messages, () => {
      throw new Error('not asked');
    });
    expect(told.messages).toBe(messages);
    expect(bearsState(messages)).toBe(false);
  });

  test('whether state is removed is decided for each message, by its writer', () => {
    const signed = answer({ thought_signature: 'CoQB…' });
    const messages = [question, signed, question, signed, question];
    const told = readableMessages(messages, (index) => index === 3);
    expect(told.messages).toEqual([question, answer({}), question, signed, question]);
    expect(told.dropped).toEqual(['messages[1].thought_signature']);
  });
});
