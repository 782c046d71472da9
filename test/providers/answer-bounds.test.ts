import { expect, test } from 'bun:test';
import { ToolUses } from '../../plugins/providers/anthropic/calls.ts';
import { MessagesBuilder } from '../../plugins/providers/anthropic/messages-builder.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { gemini } from '../../plugins/providers/gemini.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { PreparedProvider } from '../../src/contract/provider.ts';
import type { ChatMessage } from '../../src/core/api/chat-request.ts';
import { inTime } from '../support/in-time.ts';
import { chatRequest } from '../support/model-request.ts';
import { shownOf } from '../support/parts.ts';
import { providerCall } from '../support/provider-call.ts';
import { wireAdapter } from '../support/wire-request.ts';
import { openaiOf } from './fixtures/openai-responses/adapter.ts';

function readerOf(adapter: PreparedProvider) {
  const reader = wireAdapter(adapter).stream();
  return (event: object): readonly StreamPart[] => shownOf(reader.read({ event: '', data: JSON.stringify(event) }));
}
const claude = () => readerOf(anthropic.prepare({ service: 'anthropic', prompt_cache: 'auto', threads: false }));

const TOO_MANY = { type: 'failure', failure: { kind: 'malformed', message: 'the answer has too many tool calls' } };

test('an answer has at most 512 calls, under any index', () => {
  const content_block = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const calls = {
    claude: [claude(), { type: 'content_block_start', index: 0, content_block }],
    gemini: [
      readerOf(gemini.prepare({ service: 'gemini' })),
      { candidates: [{ content: { parts: [{ functionCall: { name: 'f' } }] } }] },
    ],
  } as const;
  for (const [read, event] of Object.values(calls)) {
    for (let at = 0; at < 512; at++) expect(read(event)).toMatchObject([{ type: 'tool-call', index: at }]);
    expect(read(event)).toMatchObject([TOO_MANY]);
  }
});

test.each([
  ['has a call without a name', [{ type: 'function_call', call_id: 'c', name: '', arguments: '{}' }]],
  ['has too many items', Array(600).fill({ type: 'message', content: [] })],
])('a response that %s is billed', (_, output) => {
  const usage = { input_tokens: 1_000, output_tokens: 500 };
  const parts = openaiOf().reply(JSON.stringify({ object: 'response', status: 'completed', output, usage }));
  const failed = parts.findIndex(({ type }) => type === 'failure');
  expect(parts[failed - 1]).toMatchObject({ type: 'usage', usage: { inputTokens: 1_000, outputTokens: 500 } });
});

test.each(['thinking', 'signature'])('an endless %s is not kept', (member) => {
  const read = claude();
  read({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } });
  const delta = {
    type: 'content_block_delta',
    index: 0,
    delta: { type: `${member}_delta`, [member]: 'a'.repeat(1_000_000) },
  };
  const parts = Array.from({ length: 9 }, () => read(delta)).flat();
  expect(parts.filter(({ type }) => type === 'failure')).toMatchObject([
    { failure: { message: 'a thinking block is too long' } },
  ]);
});

const ended = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item: { type: 'reasoning', encrypted_content: 'E', summary: [], ...item },
});
const TOO_LONG = {
  type: 'failure',
  failure: { kind: 'malformed', message: 'the reasoning that must be kept is too long' },
};

test.each([
  ['state', { encrypted_content: 'E'.repeat(1_000_000) }],
  ['summaries', { summary: Array(60_000).fill({}) }],
])('endless %s are not kept for the caller', (_, item) => {
  const read = readerOf(openaiOf());
  const parts = Array.from({ length: 9 }, (_, at) => read(ended(at, item))).flat();
  expect(parts).toMatchObject([TOO_LONG]);
});

test('if a provider repeats the end of an item, the answer repeats nothing', () => {
  const read = readerOf(openaiOf());
  const end = ended(0, { summary: [{ type: 'summary_text', text: 'Hm.' }] });
  expect([...read(end), ...read(end)]).toEqual([{ type: 'reasoning', choice: 0, text: 'Hm.' }]);
  const [state] = read({ type: 'response.completed', response: {} });
  expect(state).toMatchObject({ type: 'state', details: [{ summary: 'Hm.' }, { data: 'E' }] });
});

const ADAPTERS = [
  ['anthropic', anthropic.prepare({ service: 'anthropic', prompt_cache: 'auto', threads: false }), 'claude-opus-5-5'],
  ['gemini', gemini.prepare({ service: 'gemini' }), 'gemini-3.8-flash'],
] as const;

test.each(ADAPTERS)(
  '%s passes on deeply nested arguments of a call unchanged and at once',
  async (_, adapter, upstream) => {
    // The limits of a body do not apply to JSON within a string.
    const text = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: text } } as const;
    const messages: ChatMessage[] = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'y' },
    ];
    const request = await inTime(300, () => wireAdapter(adapter).request(providerCall({ messages }, { upstream })));
    expect('body' in request && request.body).toContain(JSON.stringify({ arguments: text }));
  },
);

test('IDs of several megabytes are truncated, and still match results to calls', () => {
  const calls = new ToolUses();
  const ids = ['a', 'b'].map((end) => 'é'.repeat(1_000_000) + end);
  const tool_calls = ids.map((id) => ({ id, type: 'function' as const, function: { name: 'f', arguments: '' } }));
  const [answer, ...results] = chatRequest({
    messages: [
      { role: 'assistant', content: null, tool_calls },
      ...ids.map((id) => ({ role: 'tool' as const, tool_call_id: id, content: '' })),
    ],
  }).conversation.turns;
  const made = calls.madeBy(answer!);
  const wire = made.map(({ id }) => String(id));
  expect(new Set(wire).size).toBe(2);
  for (const id of wire) expect(id).toMatch(/^[\w-]{1,2000}$/);
  expect(results.map((turn) => calls.answeredBy(turn))).toEqual(wire);
});

test('the adapter joins consecutive answers to one turn, in linear time', async () => {
  const blocks = Array.from({ length: 30 }, () => ({ type: 'text', text: 'x' }));
  const lengths = await inTime(3_000, () => {
    const turns = new MessagesBuilder(true);
    turns.say(blocks);
    for (let at = 0; at < 6_000; at++) turns.answer(blocks, 'messages[1]');
    turns.say(blocks);
    turns.answer(blocks, 'messages[1]');
    return turns.end().turns.map(({ role, content }) => [role, content.length]);
  });
  expect(lengths).toEqual([
    ['user', 30],
    ['assistant', 6_000 * 30],
    ['user', 30],
    ['assistant', 30],
  ]);
});

test('unknown members of a usage object cost no time, however many there are', async () => {
  const unknown = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`k${at}`, 1]));
  const parts = await inTime(500, () => {
    const read = claude();
    read({ type: 'message_start', message: { usage: { input_tokens: 7, output_tokens: 1, ...unknown } } });
    for (let at = 0; at < 2_000; at++) read({ type: 'message_delta', delta: {}, usage: {} });
    return read({ type: 'message_delta', delta: {}, usage: { input_tokens: null, output_tokens: 5 } });
  });
  expect(parts).toMatchObject([{ type: 'usage', usage: { inputTokens: 7, outputTokens: 5 } }]);
});
