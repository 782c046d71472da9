import { expect, test } from 'bun:test';
import { AnswerSeal } from '../../../src/access/idempotency/crypto.ts';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { platform } from '../../../src/core/api/platform.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { AnswerCache } from '../../../src/gateway/cache/answer-cache.ts';
import { PacedAnswer } from '../../../src/gateway/cache/recorded-answer.ts';
import type { RunningAnswer } from '../../../src/gateway/exchange/answer-source.ts';
import { batchLine, endLine } from '../../../src/gateway/exchange/replayed-answer.ts';
import type { CachedRow } from '../../../src/store/cache.ts';

const VECTORS = 500;
const BATCH_MAX = 32;
const partOf = (index: number): StreamPart => ({ type: 'embedding', choice: 0, index, vector: [index] });
const RECEIPT = { usage: plainUsage(1, 0), platform: { ...platform, dropped: [] }, saved: 0 };

/** An answer with all its parts in one batch. */
function wholeAnswer(): RunningAnswer {
  let left: readonly StreamPart[] | null = Array.from({ length: VECTORS }, (_, index) => partOf(index));
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
    read() {
      const parts = left;
      left = null;
      return parts;
    },
    abandon() {
      left = null;
    },
  };
}

test('a reader gets many vectors of the cache in pieces, with turns for other requests between them', async () => {
  let isHeld = true;
  const answer = new PacedAnswer(wholeAnswer(), () => {
    isHeld = false;
  });
  const seen: StreamPart[] = [];
  let turns = 0;
  for (;;) {
    let hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
    });
    const parts = answer.read();
    if (parts === null) break;
    expect(isHeld).toBe(true);
    if (parts instanceof Promise) {
      await parts;
      if (hasTurned) turns++;
    } else {
      expect(parts.length).toBeWithin(1, BATCH_MAX + 1);
      seen.push(...parts);
    }
  }
  expect(seen).toEqual(Array.from({ length: VECTORS }, (_, index) => partOf(index)));
  expect([isHeld, turns]).toEqual([false, Math.ceil(VECTORS / BATCH_MAX) - 1]);
});

test('the memory of an answer that its reader leaves, or that does not open, is released', async () => {
  for (const end of [
    (answer: RunningAnswer) => answer.abandon('caller-gone'),
    (answer: RunningAnswer) => answer.open().catch(() => {}),
  ]) {
    let left = 0;
    const source = { ...wholeAnswer(), open: () => Promise.reject(new Error('closed')) };
    const answer = new PacedAnswer(source, () => {
      left++;
    });
    await end(answer);
    expect(left).toBe(1);
  }
});

test('a search that finds no memory reads no further entries and finds nothing', async () => {
  const rows = new Map<string, CachedRow>();
  const reads: number[] = [];
  const cache = new AnswerCache({
    store: {
      cache: {
        keep: (row: CachedRow) => void rows.set(row.name.toHex(), row),
        find: async (names: readonly Uint8Array[]) => {
          reads.push(names.length);
          return names.flatMap((name) => rows.get(name.toHex()) ?? []);
        },
      },
      defer() {},
    } as never,
    secret: new Uint8Array(32),
    now: () => 1_000,
    onError: () => {},
  });
  const seal = new AnswerSeal('secret', new Uint8Array(1));
  const source = { ...wholeAnswer(), receipt: RECEIPT };
  const names = Array.from({ length: VECTORS }, (_, at) => new Uint8Array(32).fill(at & 255).fill(at >> 8, 16));
  for (const [at, name] of names.entries()) {
    const entry = { decision: at, text: batchLine([partOf(at)]) + endLine(source, null), tokens: 1 };
    cache.keep(name, entry, seal, { keyId: 'key' }, { bytesMax: 1e9, ttlMs: 60_000 }, { recordDays: 1 });
  }
  let bytes = 0;
  const all = await cache.find(names, seal, (more) => {
    bytes += more;
    return true;
  });
  expect(all.map((one) => one?.decision)).toEqual(names.map((_, at) => at));
  expect(bytes).toBe(rows.values().reduce((sum, { answer }) => sum + answer.length, 0));
  expect(Math.max(...reads)).toBeLessThanOrEqual(BATCH_MAX);
  reads.length = 0;
  const none = await cache.find(names, seal, () => false);
  expect([none.length, none.every((one) => one === null), reads.length]).toEqual([VECTORS, true, 1]);
});
