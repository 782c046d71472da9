import type { ChatMessage } from '../../src/core/api/chat-request.ts';

/** A call of the tool `look`, as a client sends it back. */
export const made = (id: string, name = 'look', args = '{}') => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
});

/** An answer that calls `look`. */
export const calls = (...ids: readonly string[]): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => made(id)),
});

export const result = (id: string, content = 'r'): ChatMessage => ({ role: 'tool', tool_call_id: id, content });
