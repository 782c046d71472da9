import { expect, test } from 'bun:test';
import { Turns } from '../../plugins/providers/anthropic/turns.ts';

test('answers behind each other become one turn, in time that grows with their number', () => {
  const turns = new Turns(true);
  const blocks = Array.from({ length: 30 }, () => ({ type: 'text', text: 'x' }));
  const began = performance.now();
  turns.say(blocks);
  for (let at = 0; at < 6_000; at++) turns.answer(blocks, 'messages[1]');
  turns.say(blocks);
  turns.answer(blocks, 'messages[1]');
  const lengths = turns.end().turns.map(({ role, content }) => [role, content.length]);
  expect(performance.now() - began).toBeLessThan(3_000);
  expect(lengths).toEqual([
    ['user', 30],
    ['assistant', 6_000 * 30],
    ['user', 30],
    ['assistant', 30],
  ]);
});
