import { expect, test } from 'bun:test';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { gemini } from '../../plugins/providers/gemini.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { PreparedProvider } from '../../src/contract/provider.ts';

function readerOf(adapter: PreparedProvider) {
  if (adapter.kind !== 'wire') throw new Error('not a wire adapter');
  const reader = adapter.stream();
  return (event: object): readonly StreamPart[] => reader.read({ event: '', data: JSON.stringify(event) });
}
const claude = () => readerOf(anthropic.prepare({ prompt_cache: 'auto' }));

const TOO_MANY = { type: 'failure', failure: { kind: 'malformed', message: 'the answer has too many tool calls' } };

test('an answer has at most 512 calls, under whatever index each comes', () => {
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

test.each(['thinking', 'signature'])('a %s without end is not kept', (member) => {
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
