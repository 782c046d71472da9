import { expect, test } from 'bun:test';
import { Completion } from '../../src/http/completion.ts';

test('an answer with a million probabilities is gathered like any other', () => {
  const content = Array<unknown>(1_500_000).fill(0);
  expect(() => new Completion().add([{ type: 'logprobs', choice: 0, content, refusal: [] }])).not.toThrow();
});
