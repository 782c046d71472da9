import { expect, test } from 'bun:test';
import { placesOf } from '../../../src/core/request/conversation.ts';
import { createResponse } from '../../../src/dialects/openai-responses/surface.ts';
import { hashOfTurn } from '../../../src/gateway/prompt/message-hash.ts';
import { bearsState, withReadableState } from '../../../src/gateway/prompt/reasoning-state.ts';
import { READER } from '../../support/chat-body.ts';
import { profile } from '../../support/profile.ts';
import { readOn } from '../../support/read-request.ts';

/** An answer in this dialect consists of several items, but is a single turn in the neutral form. */
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
const call = (id: string, args = '{}') => ({ type: 'function_call', call_id: id, name: 'look', arguments: args });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'seen' });
const ITEMS = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'I look twice.' },
  REASONING,
  call('a'),
  call('b'),
  output('b'),
  output('a'),
];

const read = (input: readonly object[]) =>
  readOn(createResponse, { model: 'auto', instructions: 'Be kind.', input }).request;

test('the items of an answer are one turn, with the path of each item', () => {
  const { turns } = read(ITEMS).conversation;
  expect(turns.map(({ role, toolCallId }) => [role, toolCallId])).toEqual([
    ['system', undefined],
    ['user', undefined],
    ['assistant', undefined],
    ['tool', 'b'],
    ['tool', 'a'],
  ]);
  expect(placesOf(turns[2]!)).toEqual([1, 2, 3, 4].map((at) => ['input', at]));
  expect(turns[2]!.parts.map(({ type, at }) => [type, at])).toEqual([
    ['text', ['input', 1, 'content']],
    ['tool-call', ['input', 3]],
    ['tool-call', ['input', 4]],
  ]);
});

test('readable reasoning is sent to providers that accept it; alone it is not a message', () => {
  const thought = (of: object) => ({ type: 'reasoning', id: 'rs_1', ...of });
  const raw = thought({ summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] });
  const told = thought({ summary: [{ type: 'summary_text', text: ' So.' }] });
  const question = { role: 'user', content: 'Hi' };
  const [, asked, answer] = read([question, raw, told, call('a')]).conversation.turns;
  expect([asked!.role, answer!.extras]).toEqual(['user', { reasoning_content: 'Hm. So.' }]);
  const roles = read([question, raw, question]).conversation.turns.map(({ role }) => role);
  expect(roles).toEqual(['system', 'user', 'user']);
});

test('readable reasoning at the end does not require a model that continues an answer, and changes no estimate', () => {
  const question = { role: 'user', content: 'Hi' };
  const thought = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] };
  expect(profile(read([question, thought]), READER)).toEqual(profile(read([question]), READER));
});

test('each item counts in the hash by which a conversation is recognized', () => {
  const hash = (items: readonly object[]) => {
    const request = read(items);
    return hashOfTurn(request.conversation.turns[2]!, request, 1n);
  };
  expect(hash(ITEMS)).toBe(hash(structuredClone(ITEMS)));
  const other = ITEMS.with(4, call('b', '{"far":true}'));
  expect(hash(other)).not.toBe(hash(ITEMS));
});

test('state in any item is found, and removed for a model that cannot read it', () => {
  const request = read(ITEMS);
  expect(bearsState(request)).toBe(true);
  expect(withReadableState(request, () => true)).toEqual({ request, dropped: [] });
  const { request: left, dropped } = withReadableState(request, () => false);
  expect(dropped).toEqual(['input[2].encrypted_content']);
  expect(left.conversation.turns[2]!.extras).toEqual({});
  expect(left.original.body.input as object[]).toEqual(
    ITEMS.with(2, { type: 'reasoning', id: 'rs_1', summary: [] } as never),
  );
});
