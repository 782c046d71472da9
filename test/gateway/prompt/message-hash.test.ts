import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChatMessage } from '../../../src/core/api/chat-request.ts';
import { share } from '../../../src/core/json/shared-values.ts';
import type { Turn } from '../../../src/core/request/conversation.ts';
import { createMessage } from '../../../src/dialects/anthropic-messages/surface.ts';
import { hashOfTurn } from '../../../src/gateway/prompt/message-hash.ts';
import { tries } from '../../deep/effort.ts';
import { chatRequest } from '../../support/model-request.ts';
import { readOn } from '../../support/read-request.ts';

const SEED = 7n;
const mark = { cache_control: { type: 'ephemeral' } };
const text = { type: 'text', text: 'Hi.' };

/** Returns the hash of the last turn of a conversation with this content. */
function hashOf(content: unknown, role = 'user'): bigint {
  const body = { model: 'auto', max_tokens: 9, messages: [{ role, content }] };
  const { request } = readOn(createMessage, body);
  return hashOfTurn(request.conversation.turns.at(-1)!, request, SEED);
}

test('a turn has the same hash wherever its client sets its cache marks', () => {
  expect(hashOf([{ ...text, ...mark }])).toBe(hashOf('Hi.'));
  expect(hashOf([text, { ...text, ...mark }])).toBe(hashOf([text, text]));
  const result = { type: 'tool_result', tool_use_id: 't', content: [text] };
  expect(hashOf([{ ...result, ...mark }])).toBe(hashOf([result]));
});

test('a turn with other words, another role or other members has another hash', () => {
  const hashes = [hashOf('Hi.'), hashOf('Hi'), hashOf('Hi.', 'assistant'), hashOf([text, text])];
  expect(new Set([...hashes, hashOf([{ ...text, citations: [1] }])]).size).toBe(5);
});

test('a turn with the same texts in documents has another hash', () => {
  const file = (...content: object[]) => ({ type: 'document', source: { type: 'content', content } });
  const written = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text.text } };
  const two = [[text, text], [file(text), file(text)], [file(text, text)], [written, written], [text, written]];
  const hashes = [...two, [text], [file(text)], [written]].map((blocks) => hashOf(blocks));
  expect(new Set(hashes).size).toBe(hashes.length);
});

test('a turn with the result of another call has another hash', () => {
  const resultOf = (id: string) => hashOf([{ type: 'tool_result', tool_use_id: id, content: 'Found.' }]);
  expect(resultOf('a')).toBe(resultOf('a'));
  expect(resultOf('a')).not.toBe(resultOf('b'));
});

/** Returns the chained hash of the messages of a chat. */
function hashOfAll(messages: ChatMessage[]): bigint {
  const request = chatRequest({ messages });
  return request.conversation.turns.reduce((hash, turn) => hashOfTurn(turn, request, hash), SEED);
}

const call = (id: string, name: string, text: string) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: text },
});

test('a message with calls has the same hash without content and with null as content', () => {
  const calls: ChatMessage = { role: 'assistant', tool_calls: [call('a', 'look', '{}')] };
  expect(hashOfAll([{ ...calls, content: null }])).toBe(hashOfAll([calls]));
  expect(hashOfAll([{ ...calls, content: '' }])).not.toBe(hashOfAll([calls]));
});

/**
 * Some texts look like the text of a call, so that messages could be confused at other boundaries. Other texts are halves of characters.
 */
const TEXTS = ['', '1', '0 0 ', '0 1 1', '1 0 1', '\ud800', '\ud801'];
const MESSAGES: readonly ChatMessage[] = TEXTS.flatMap((a): ChatMessage[] => [
  { role: 'user', content: a },
  { role: 'assistant', content: a },
  ...TEXTS.flatMap((b): ChatMessage[] => [
    { role: 'tool', tool_call_id: a, content: b },
    ...TEXTS.flatMap((c): ChatMessage[] => [
      { role: 'assistant', tool_calls: [call(a, b, c)] },
      { role: 'assistant', content: a, tool_calls: [call(b, c, ''), call(c, '1', b)] },
    ]),
  ]),
]);

test('no two different messages of texts and calls have the same hash, and neither do two pairs of messages', () => {
  expect(new Set(MESSAGES.map((one) => hashOfAll([one]))).size).toBe(MESSAGES.length);
  const few = MESSAGES.filter((_, at) => at % 11 === 0);
  const pairs = few.flatMap((one) => few.map((other) => hashOfAll([one, other])));
  expect(new Set(pairs).size).toBe(few.length ** 2);
});

describe('turns that several requests share', () => {
  type Hash = typeof hashOfTurn;
  const anyMessages = fc.array(fc.tuple(fc.constantFrom('user', 'assistant'), fc.constantFrom('a', 'b', 'c')), {
    minLength: 1,
    maxLength: 6,
  });

  /** Requests whose equal messages at the same index are the same shared objects have the same hashes as other requests. */
  function checkHashes(open: () => Hash): void {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyMessages, fc.constantFrom(1, 2, 3)), { maxLength: 8 }), (requests) => {
        const hash = open();
        const messages = new Map<string, ChatMessage>();
        for (const [list, seed] of requests) {
          const shared = list.map(([role, content], index): ChatMessage => {
            const name = `${index} ${role} ${content}`;
            const message = messages.get(name) ?? { role: role === 'user' ? 'user' : 'assistant', content };
            share(message);
            messages.set(name, message);
            return message;
          });
          const chained = (of: readonly ChatMessage[], hashOn: Hash) => {
            const request = chatRequest({ messages: [...of] });
            return request.conversation.turns.reduce((on, turn) => hashOn(turn, request, on), BigInt(seed));
          };
          expect(chained(shared, hash)).toBe(chained(structuredClone(shared), hashOfTurn));
        }
      }),
      tries('shared turns have the hashes of other turns', 300, 10_000),
    );
  }

  test('have the same hashes as turns of one request', () => {
    checkHashes(() => hashOfTurn);
  });

  test('would have wrong hashes if the turns before them did not count', () => {
    const keeping = (): Hash => {
      const known = new Map<Turn, bigint>();
      return (turn, request, seed) => {
        const hash = known.get(turn) ?? hashOfTurn(turn, request, seed);
        known.set(turn, hash);
        return hash;
      };
    };
    expect(() => checkHashes(keeping)).toThrow();
  });
});
