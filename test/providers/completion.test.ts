import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../src/contract/parts.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import { AnswerCompletion } from '../../src/providers/completion.ts';

const said = (choice: number, text = 'x'): StreamPart => ({ type: 'text', choice, text });
const finish = (choice: number): StreamPart => ({ type: 'finish', choice, reason: 'stop', raw: 'stop' });
const usage = (tokens: number): StreamPart => ({ type: 'usage', usage: plainUsage(tokens, tokens) });
const failure: StreamPart = { type: 'failure', failure: { kind: 'server', message: 'no' } };

/** Returns the kept parts, and the state after the last part that was read. */
function follow(choices: number, parts: readonly StreamPart[]) {
  const completion = new AnswerCompletion(choices);
  const kept: StreamPart[] = [];
  let read = 0;
  for (const part of parts) {
    read++;
    if (!completion.add(part, kept)) break;
  }
  return { completion, kept, read };
}

describe('an answer', () => {
  test('ends with the usage after the last finish, not with an earlier usage', () => {
    const parts = [said(0), usage(1), finish(0), usage(2), said(1), finish(1), usage(3), usage(4)];
    const { completion, kept, read } = follow(2, parts);
    expect([read, completion.complete]).toEqual([7, true]);
    expect(kept).toEqual(parts.slice(0, 7));
  });

  test('is complete once every choice has finished, and later parts do not break it', () => {
    for (const noise of [failure, said(0), said(5), finish(0)]) {
      const { completion, kept, read } = follow(1, [said(0), finish(0), noise, usage(1)]);
      expect([read, completion.complete, completion.failure]).toEqual([4, true, null]);
      expect(kept).toEqual([said(0), finish(0), usage(1)]);
    }
  });

  test('is broken by a failure, and by a choice that was not requested', () => {
    expect(follow(1, [said(0), failure, said(0)])).toMatchObject({
      read: 2,
      completion: { failure: { kind: 'server' } },
    });
    for (const choice of [-1, 0.5, 2, 3, Number.NaN]) {
      const { completion, kept, read } = follow(2, [said(1), said(choice), said(0)]);
      expect([read, kept, completion.failure?.kind]).toEqual([2, [said(1)], 'malformed']);
    }
  });

  test('has started with its first content, whatever follows', () => {
    expect(follow(2, [usage(1)]).completion.started).toBe(false);
    expect(follow(2, [said(0), usage(1), said(1)]).completion.started).toBe(true);
    expect(follow(2, [said(1), finish(1), finish(1), usage(1)]).completion.started).toBe(true);
  });

  test('of any number of choices drops parts after a choice’s finish, and none before', () => {
    const part = fc.oneof(
      fc.record({ choice: fc.nat(2), text: fc.string() }).map(({ choice, text }) => said(choice, text)),
      fc.nat(2).map(finish),
      fc.nat(9).map(usage),
    );
    const law = fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const { completion, kept, read } = follow(3, parts);
      for (let choice = 0; choice < 3; choice++) {
        const of = (list: readonly StreamPart[]) => list.filter((one) => 'choice' in one && one.choice === choice);
        const sent = of(parts.slice(0, read));
        const end = sent.findIndex(({ type }) => type === 'finish');
        expect(of(kept)).toEqual(end < 0 ? sent : sent.slice(0, end + 1));
      }
      const finishes = kept.filter(({ type }) => type === 'finish');
      expect(completion.finished).toBe(finishes.length === 3);
      const isUsage = ({ type }: StreamPart) => type === 'usage';
      expect(kept.filter(isUsage)).toEqual(parts.slice(0, read).filter(isUsage));
      expect(completion.complete).toBe(
        completion.finished && kept.findLastIndex(isUsage) > kept.lastIndexOf(finishes.at(-1)!),
      );
      if (!completion.complete) expect(read).toBe(parts.length);
    });
    fc.assert(law, { numRuns: 1_000 });
  });
});
