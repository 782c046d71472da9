import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { AnswerSeal } from '../../../src/access/idempotency/crypto.ts';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { platform } from '../../../src/core/decision/platform.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { AnswerCache } from '../../../src/gateway/cache/answer-cache.ts';
import { HeldAnswer } from '../../../src/gateway/cache/recorded-answer.ts';
import type { RunningAnswer } from '../../../src/gateway/exchange/answer-source.ts';
import { AnswerTurns } from '../../../src/gateway/exchange/answer-turns.ts';
import { batchLine, endLine } from '../../../src/gateway/exchange/replayed-answer.ts';
import { arrived } from '../../../src/providers/arrival.ts';
import type { CachedRow } from '../../../src/store/cache.ts';

const RECEIPT = { usage: plainUsage(1, 0), platform: { ...platform, dropped: [] }, saved: 0 };
const textOf = (text: string): StreamPart[] => [{ type: 'text', choice: 0, text }];

/** An answer with these batches of parts. */
function answerOf(...batches: (readonly StreamPart[])[]): RunningAnswer {
  return {
    decision: 1,
    created: 1,
    model: 'best',
    receipt: RECEIPT,
    error: null,
    isDeserted: false,
    funded: { headers: {}, errorOf: (error) => error },
    policy: { commitAfterMs: 0, failedStreams: 'end' } as RunningAnswer['policy'],
    open: async () => {},
    read: () => batches.shift() ?? null,
    abandon() {
      batches.length = 0;
    },
  };
}

/** A cache over a store in memory. `seal` notes the bytes of answers that it opens. */
function cacheWith(turns: AnswerTurns, note: (bytes: number) => void = () => {}) {
  const rows = new Map<string, CachedRow>();
  const reads: number[] = [];
  const cache = new AnswerCache({
    store: {
      cache: {
        keep: (row: CachedRow) => void rows.set(row.name.toHex(), row),
        async find(names: readonly Uint8Array[], _: number, bytesMax: number) {
          reads.push(names.length);
          const found = names.flatMap((name) => rows.get(name.toHex()) ?? []);
          return found.map(({ answer, ...row }) => {
            return { ...row, bytes: answer.length, answer: answer.length <= bytesMax ? answer : null };
          });
        },
      },
      defer() {},
    } as never,
    turns,
    secret: new Uint8Array(32),
    now: () => 1_000,
    onError: () => {},
  });
  const seal = new AnswerSeal('secret', new Uint8Array(1));
  const open = seal.open.bind(seal);
  seal.open = (sealed, bound) => {
    note(sealed.length);
    return open(sealed, bound);
  };
  const keep = (name: Uint8Array, text: string) =>
    cache.keep(name, { decision: 1, text }, seal, { keyId: 'key' }, LIMITS, { days: 1 });
  return { cache, seal, rows, reads, keep };
}

const LIMITS = { bytesMax: 1e9, ttlMs: 60_000 };
const END = endLine(answerOf(), null);
const nameOf = (at: number) => new Uint8Array(32).fill(at & 255).fill(at >> 8, 16);

test('the memory of an answer is held until it was read, its reader leaves, or it does not open', async () => {
  for (const end of [
    async (answer: RunningAnswer) => {
      while (answer.read() !== null);
    },
    async (answer: RunningAnswer) => answer.abandon('caller-gone'),
    (answer: RunningAnswer) => answer.open().catch(() => {}),
  ]) {
    let left = 0;
    const source = { ...answerOf(textOf('a'), textOf('b')), open: () => Promise.reject(new Error('closed')) };
    const answer = new HeldAnswer(source, () => {
      left++;
    });
    expect([answer.read(), left]).toEqual([textOf('a'), 0]);
    await end(answer);
    expect(left).toBe(1);
  }
});

/** The most bytes that hits process between two turns of the event loop: the rest of one turn, and the whole next one. */
const BETWEEN_TURNS = 2 * 1_048_576;

const hit = fc.record({
  /** Turns of the event loop before the hit arrives. */
  at: fc.nat(3),
  /** The lengths of the batches of its answer. Only an answer below the size of a turn waits for others. */
  batches: fc.array(fc.integer({ min: 1, max: 250_000 }), { minLength: 1, maxLength: 4 }),
});

/** Plays hits. Throws if too many bytes are processed at once, or if a hit is not the stored answer. */
const law = (turnsOf: () => AnswerTurns) =>
  fc.asyncProperty(fc.array(hit, { minLength: 1, maxLength: 20 }), async (hits) => {
    let processed = 0;
    let isOver = false;
    const note = (bytes: number) => {
      processed += bytes;
      expect(processed).toBeLessThanOrEqual(BETWEEN_TURNS);
    };
    const { cache, seal, keep } = cacheWith(turnsOf(), note);
    for (const [index, { batches }] of hits.entries())
      keep(nameOf(index), batches.map((chars) => batchLine(textOf('x'.repeat(chars)))).join('') + END);
    const turns = (async () => {
      for (; !isOver; processed = 0) await setImmediate();
    })();
    const plays = hits.map(async ({ at, batches }, index) => {
      for (let turn = 0; turn < at; turn++) await setImmediate();
      const [found] = await cache.find([nameOf(index)], seal, () => true);
      for (const chars of batches) {
        const parts = await arrived(() => found!.source.read());
        note(chars);
        expect(parts).toEqual(textOf('x'.repeat(chars)));
      }
      expect(found!.source.read()).toBeNull();
    });
    try {
      await Promise.all(plays);
    } finally {
      isOver = true;
      await turns;
    }
  });

test('hits process a limited number of bytes in a turn of the event loop', async () => {
  await fc.assert(
    law(() => new AnswerTurns()),
    { numRuns: 30 },
  );
});

test('the law of hits notices answers that are opened, or whose parts are read, without a turn', async () => {
  const unread = () => Object.assign(new AnswerTurns(), { read: () => null });
  const unpaced = () => Object.assign(new AnswerTurns(), { pace: () => null });
  for (const mutant of [unread, unpaced]) {
    expect((await fc.check(law(mutant), { endOnFailure: true })).failed).toBe(true);
  }
});

const VECTORS = 500;
const BATCH_MAX = 32;

test('a search that finds no memory reads no further entries and finds nothing', async () => {
  const { cache, seal, rows, reads, keep } = cacheWith(new AnswerTurns());
  const names = Array.from({ length: VECTORS }, (_, at) => nameOf(at));
  for (const [index, name] of names.entries())
    keep(name, batchLine([{ type: 'embedding', choice: 0, index: 0, vector: [index] }]) + END);
  let bytes = 0;
  const all = await cache.find(names, seal, (more) => {
    bytes += more;
    return true;
  });
  const vectors = all.map((one) => one?.source.read());
  expect(vectors).toEqual(names.map((_, at) => [{ type: 'embedding', choice: 0, index: 0, vector: [at] }]));
  expect(bytes).toBe(rows.values().reduce((sum, { answer }) => sum + answer.length, 0));
  expect(Math.max(...reads)).toBeLessThanOrEqual(BATCH_MAX);
  reads.length = 0;
  const none = await cache.find(names, seal, () => false);
  expect([none.length, none.every((one) => one === null), reads.length]).toEqual([VECTORS, true, 1]);
});
