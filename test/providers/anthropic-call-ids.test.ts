import { expect, test } from 'bun:test';
import { ToolUses } from '../../plugins/providers/anthropic/calls.ts';
import { chatRequest } from '../support/model-request.ts';

test('IDs of megabytes are truncated, and still match results to calls', () => {
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
