import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { WaitingParts } from '../../../src/gateway/exchange/waiting-parts.ts';

const event = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'é\n"' } };
const part = fc.oneof<fc.Arbitrary<StreamPart>[]>(
  fc.string({ unit: 'binary' }).map((text) => ({ type: 'text', choice: 0, text })),
  fc.constantFrom<StreamPart>(
    { type: 'text', choice: 1, text: 'x' },
    { type: 'tool-call', choice: 0, index: 0, id: 'call_1', name: 'look_up', arguments: '{"' },
    { type: 'passthrough', choice: 0, event, json: JSON.stringify(event) },
    { type: 'passthrough', choice: 0, event },
    { type: 'finish', choice: 0, reason: 'length', raw: 'length' },
  ),
);
/** A batch that arrives, or a reader that reads one. */
const steps = fc.array(fc.oneof(fc.array(part, { minLength: 1, maxLength: 4 }), fc.constant(null)), { maxLength: 60 });

test('batches are read unchanged and in their order, however slow the reader is', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const waiting = new WaitingParts();
      const expected: (readonly StreamPart[])[] = [];
      for (const step of all) {
        if (step) {
          waiting.add(step);
          expected.push(step);
        } else expect(waiting.take()).toEqual(expected.shift() ?? null);
        expect(waiting.isEmpty).toBe(expected.length === 0);
      }
      for (const batch of expected) expect(waiting.take()).toEqual(batch);
      expect([waiting.take(), waiting.chars, waiting.isEmpty]).toEqual([null, 0, true]);
    }),
    { numRuns: 300 },
  );
});

test('batches that wait for a reader are released when the reader disconnects', () => {
  const waiting = new WaitingParts();
  const batch: StreamPart[] = [{ type: 'text', choice: 0, text: 'x' }];
  for (let count = 0; count < 3; count++) waiting.add(batch);
  waiting.take();
  waiting.take();
  waiting.clear();
  expect([waiting.take(), waiting.chars]).toEqual([null, 0]);
  waiting.add(batch);
  expect(waiting.take()).toBe(batch);
});
