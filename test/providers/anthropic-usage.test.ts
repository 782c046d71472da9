import { expect, test } from 'bun:test';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { inTime } from '../support/in-time.ts';

test('unknown members of a usage cost nothing, however many', async () => {
  const adapter = anthropic.prepare({ prompt_cache: 'auto' });
  if (adapter.kind !== 'wire') throw new Error('not a wire adapter');
  const unknown = Object.fromEntries(Array.from({ length: 40_000 }, (_, at) => [`k${at}`, 1]));
  const parts = await inTime(500, () => {
    const reader = adapter.stream();
    const read = (event: object) => reader.read({ event: '', data: JSON.stringify(event) });
    read({ type: 'message_start', message: { usage: { input_tokens: 7, output_tokens: 1, ...unknown } } });
    for (let at = 0; at < 2_000; at++) read({ type: 'message_delta', delta: {}, usage: {} });
    return read({ type: 'message_delta', delta: {}, usage: { input_tokens: null, output_tokens: 5 } });
  });
  expect(parts).toMatchObject([{ type: 'usage', usage: { inputTokens: 7, outputTokens: 5 } }]);
});
