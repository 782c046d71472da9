import { expect, test } from 'bun:test';
import { presets } from '../../plugins/providers/openai-compatible/presets.ts';
import { PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import type { ChatMessage } from '../../src/surface/openai-chat/request.ts';
import { openaiAdapter, providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';

const look = { role: 'assistant' as const, content: null, function_call: { name: 'look', arguments: '{"at":2}' } };
const seen: ChatMessage = { role: 'function', name: 'look', content: 'a cat' };
const messages: ChatMessage[] = [{ role: 'user', content: 'Look.' }, look, seen];

test('older function calls are sent as tool calls, each result with its call', () => {
  const adapter = openaiAdapter({ ...PLAIN, ...presets.deepseek?.settings });
  expect(wireRequest(adapter, providerCall({ messages })).body.messages).toEqual([
    messages[0],
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'function_look', type: 'function', function: look.function_call }],
    },
    { role: 'tool', content: 'a cat', tool_call_id: 'function_look' },
  ]);
});
