import { expect, test } from 'bun:test';
import { hashOfTurn } from '../../src/gateway/message-hash.ts';
import { anthropicMessages } from '../../src/surface/anthropic-messages/surface.ts';

const SEED = 7n;
const mark = { cache_control: { type: 'ephemeral' } };
const text = { type: 'text', text: 'Hi.' };

/** The hash of the last turn of a conversation with this content. */
function hashOf(content: unknown, role = 'user'): bigint {
  const body = { model: 'auto', max_tokens: 9, messages: [{ role, content }] };
  const { request } = anthropicMessages.read(body, new Headers());
  return hashOfTurn(request.conversation.turns.at(-1)!, request, SEED);
}

test('a turn has the same hash wherever its client sets its cache marks', () => {
  expect(hashOf([{ ...text, ...mark }])).toBe(hashOf('Hi.'));
  expect(hashOf([text, { ...text, ...mark }])).toBe(hashOf([text, text]));
  const result = { type: 'tool_result', tool_use_id: 't', content: [text] };
  expect(hashOf([{ ...result, ...mark }])).toBe(hashOf([result]));
});

test('and another one for other words, roles or members', () => {
  const hashes = [hashOf('Hi.'), hashOf('Hi'), hashOf('Hi.', 'assistant'), hashOf([text, text])];
  expect(new Set([...hashes, hashOf([{ ...text, citations: [1] }])]).size).toBe(5);
});

test('and another one for the result of another call', () => {
  const resultOf = (id: string) => hashOf([{ type: 'tool_result', tool_use_id: id, content: 'Found.' }]);
  expect(resultOf('a')).toBe(resultOf('a'));
  expect(resultOf('a')).not.toBe(resultOf('b'));
});
