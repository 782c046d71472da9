import { expect, test } from 'bun:test';
import { providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';
import { geminiAdapter } from './fixtures/gemini/adapter.ts';

test('cache hints are dropped and reported', () => {
  const hint = { cache_control: { type: 'ephemeral' } };
  const { body, dropped } = wireRequest(
    geminiAdapter(),
    providerCall({
      messages: [
        { role: 'system', content: 'S', ...hint },
        { role: 'user', content: [{ type: 'text', text: 'Hi', ...hint }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'r', ...hint }] },
      ],
      tools: [
        { type: 'function', function: { name: 'f' }, ...hint },
        { type: 'function', function: { name: 'g', ...hint } },
      ],
    }),
  );
  expect(JSON.stringify(body)).not.toContain('cache_control');
  expect(dropped.toSorted()).toEqual([
    'messages[0].cache_control',
    'messages[1].content[0].cache_control',
    'messages[3].content[0].cache_control',
    'tools[0].cache_control',
    'tools[1].function.cache_control',
  ]);
});
