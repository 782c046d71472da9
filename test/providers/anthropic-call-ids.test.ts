import { expect, test } from 'bun:test';
import { ToolUses } from '../../plugins/providers/anthropic/calls.ts';

test('IDs of megabytes are truncated, and still match results to calls', () => {
  const calls = new ToolUses();
  const ids = ['a', 'b'].map((end) => 'é'.repeat(1_000_000) + end);
  const made = calls.madeBy({
    role: 'assistant',
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '' } })),
  });
  const wire = made.map(({ id }) => String(id));
  expect(new Set(wire).size).toBe(2);
  for (const id of wire) expect(id).toMatch(/^[\w-]{1,2000}$/);
  expect(ids.map((id) => calls.answeredBy({ role: 'tool', tool_call_id: id, content: '' }))).toEqual(wire);
});
