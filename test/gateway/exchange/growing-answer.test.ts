import { describe, expect, test } from 'bun:test';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { type Price, priceLine } from '../../../src/core/money/price.ts';
import { GrowingAnswer, type MeteredAttempt } from '../../../src/gateway/exchange/growing-answer.ts';
import { wholeTranche } from '../../../src/gateway/money/tranches.ts';
import type { HoldExtension } from '../../../src/ledger/hold.ts';
import { quietFor, waitFor } from '../../support/answers.ts';

const PRICE: Price = {
  lines: [priceLine(0, { input: 1, output: 1 })],
  divisor: 1,
};
const DECLARED = { bills: 'stops', reports: 'each', marginTokens: 10, marginMs: 0 } as const;
const TERMS = {
  declared: DECLARED,
  priced: { price: PRICE },
  inputMax: 10,
  media: 0,
  outputMax: 10_000_000,
  choices: 1,
  expected: 100,
  useful: 64,
  margin: 200_000,
};
const piece: StreamPart = { type: 'text', choice: 0, text: 'x'.repeat(100_000) };

/** Makes an answer of this many pieces, all of which have already arrived. */
function stand(pieces: number, grants: (asked: HoldExtension) => boolean) {
  const seen = { read: 0, isAborted: false, excess: 0 };
  const hold = {
    left: 2_000_000,
    // An attempt at another endpoint has also billed more than was held.
    overrun: 5,
    scarcest: { kind: 'budget', name: 'purse', subject: '', definition: '', starts: 0, ends: 0 } as const,
    extend: async (asked: HoldExtension) => {
      const isGranted = grants(asked);
      if (isGranted) hold.left += asked.amounts[0];
      return isGranted;
    },
  };
  const unused = () => {
    throw new Error('not for these tests');
  };
  const attempt: MeteredAttempt = {
    read() {
      if (seen.read === pieces || seen.isAborted) return null;
      seen.read++;
      return [piece];
    },
    completed: unused,
    cutShort: unused,
    abortedUsage: unused,
    outputPaid: 0,
    call: {
      abort() {
        seen.isAborted = true;
      },
    },
    health: {
      recordBroken(_, excess) {
        seen.excess += excess;
      },
    },
  };
  const answer = new GrowingAnswer(attempt, TERMS, { hold, first: [], room: null });
  return { seen, hold, answer };
}

/** Reads an answer to its end. */
async function drained(answer: GrowingAnswer): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for (;;) {
    const batch = answer.read();
    if (batch === null) return parts;
    if (batch instanceof Promise) await batch;
    else parts.push(...batch);
  }
}

describe('an answer whose reader is slow', () => {
  test('an answer waits for its slow reader with its whole worst case held, and loses nothing', async () => {
    const { seen, hold, answer } = stand(10, () => true);
    await waitFor(() => seen.read === 2);
    await quietFor(5, 'a third piece, which would be read in the same turn', () => seen.read > 2);
    expect(hold.left).toBeGreaterThanOrEqual(wholeTranche(TERMS));
    expect(await drained(answer)).toHaveLength(10);
    expect(seen).toMatchObject({ read: 10, isAborted: false });
  });

  test('if the worst case cannot be held, an answer with a slow reader ends normally, with everything that was read', async () => {
    const { seen, answer } = stand(10, ({ amounts }) => amounts[0] < 5_000_000);
    await waitFor(() => seen.isAborted);
    const parts = await drained(answer);
    expect(seen.isAborted).toBe(true);
    expect(parts.filter(({ type }) => type === 'text')).toHaveLength(seen.read);
    expect(parts.at(-1)).toEqual({ type: 'finish', choice: 0, reason: 'length', raw: 'length' });
    // The fund with the least money is named, because no fund has refused an extension.
    expect(answer).toMatchObject({ isCut: true, cutBy: 'purse' });
  });
});

test('a provider that bills more than was held has broken its declaration', () => {
  const { seen, answer } = stand(0, () => true);
  answer.settled(5);
  expect(seen.excess).toBe(0);
  answer.settled(12);
  expect(seen.excess).toBe(7);
});
