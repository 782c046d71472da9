import { expect, test } from 'bun:test';
import { MessagesBuilder } from '../../plugins/providers/anthropic/messages-builder.ts';
import { inTime } from '../support/in-time.ts';

test('consecutive answers become one turn, in linear time', async () => {
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
