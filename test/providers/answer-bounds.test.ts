import { expect, test } from 'bun:test';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { gemini } from '../../plugins/providers/gemini.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { PreparedProvider } from '../../src/contract/provider.ts';
import { openaiOf } from './fixtures/openai-responses/adapter.ts';

function readerOf(adapter: PreparedProvider) {
  if (adapter.kind !== 'wire') throw new Error('not a wire adapter');
  const reader = adapter.stream();
  return (event: object): readonly StreamPart[] => reader.read({ event: '', data: JSON.stringify(event) });
}
const claude = () => readerOf(anthropic.prepare({ prompt_cache: 'auto' }));

const TOO_MANY = { type: 'failure', failure: { kind: 'malformed', message: 'the answer has too many tool calls' } };

test('an answer has at most 512 calls, under any index', () => {
  const content_block = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const calls = {
    claude: [claude(), { type: 'content_block_start', index: 0, content_block }],
    gemini: [readerOf(gemini.prepare({})), { candidates: [{ content: { parts: [{ functionCall: { name: 'f' } }] } }] }],
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
    { failure: { message: 'a thought is too long' } },
  ]);
});

const ended = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item: { type: 'reasoning', encrypted_content: 'E', summary: [], ...item },
});
const TOO_LONG = { type: 'failure', failure: { kind: 'malformed', message: 'the reasoning to be kept is too long' } };

test.each([
  ['state', { encrypted_content: 'E'.repeat(1_000_000) }],
  ['summaries', { summary: Array(60_000).fill({}) }],
])('%s without end are not kept for the caller', (_, item) => {
  const read = readerOf(openaiOf());
  const parts = Array.from({ length: 9 }, (_, at) => read(ended(at, item))).flat();
  expect(parts).toMatchObject([TOO_LONG]);
});

test('a repeated end of an item repeats nothing', () => {
  const read = readerOf(openaiOf());
  const end = ended(0, { summary: [{ type: 'summary_text', text: 'Hm.' }] });
  expect([...read(end), ...read(end)]).toEqual([{ type: 'reasoning', choice: 0, text: 'Hm.' }]);
  const [state] = read({ type: 'response.completed', response: {} });
  expect(state).toMatchObject({ type: 'state', details: [{ summary: 'Hm.' }, { data: 'E' }] });
});
