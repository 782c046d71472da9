import { expect, test } from 'bun:test';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import { gemini } from '../../plugins/providers/gemini.ts';
import type { ChatMessage } from '../../src/surface/openai-chat/request.ts';
import { inTime } from '../support/in-time.ts';
import { providerCall } from '../support/provider-call.ts';

const ADAPTERS = [
  ['anthropic', anthropic.prepare({ prompt_cache: 'auto' }), 'claude-opus-5-5'],
  ['gemini', gemini.prepare({}), 'gemini-3.8-flash'],
] as const;

test.each(ADAPTERS)(
  '%s shows arguments of a call that nest without end as they are, and at once',
  async (_, adapter, upstream) => {
    if (adapter.kind !== 'wire') throw new Error('not a wire adapter');
    // A body's limits do not cover JSON within a string.
    const text = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: text } } as const;
    const messages: ChatMessage[] = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'y' },
    ];
    const request = await inTime(300, () => adapter.request(providerCall({ messages }, { upstream })));
    expect('body' in request && request.body).toContain(JSON.stringify({ arguments: text }));
  },
);
