import { pause, type Timers } from '../core/timers.ts';
import type { LedgerBooks, LedgerOp, OpResult } from '../store/books.ts';
import { StoreError, type Write } from '../store/store.ts';

/** A batch whose answer was lost is repeated for so long, ms, with a pause between two times. */
const REPEAT_MS = 2_000;
const PAUSE_MS = 50;

interface RepeatTools {
  readonly books: Pick<LedgerBooks, 'apply' | 'append'>;
  readonly timers: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const isUnknown = (cause: unknown): boolean => cause instanceof StoreError && cause.reason === 'unknown';

/**
 * Applies a batch. Where the answer of the store is lost it is repeated by its IDs, so that it happens once. If none comes within
 * 2 s, holds and captures are voided, which the store is told before anything else, and the promise rejects with the last error:
 * then nothing is held, or will be. Other operations may have happened, and can be repeated later.
 */
export const applyOnce = (
  tools: RepeatTools,
  ops: readonly LedgerOp[],
  also?: readonly Write[],
): Promise<readonly OpResult[]> =>
  tools.books.apply(ops, also).catch((cause: unknown) => {
    if (!isUnknown(cause)) throw cause;
    return repeated(tools, ops, also, cause);
  });

async function repeated(
  { books, timers, now }: RepeatTools,
  ops: readonly LedgerOp[],
  also: readonly Write[] | undefined,
  cause: unknown,
): Promise<readonly OpResult[]> {
  for (let waited = 0; waited < REPEAT_MS; waited += PAUSE_MS) {
    await pause(timers, PAUSE_MS);
    try {
      return await books.apply(ops, also);
    } catch (error) {
      // Whatever is wrong now, the first time may have happened.
      if (!(error instanceof StoreError)) throw error;
      cause = error;
    }
  }
  const voids = ops.flatMap((op) =>
    op.kind === 'hold' || op.kind === 'capture' ? [{ kind: 'void', id: op.id, at: now() } as const] : [],
  );
  if (voids.length > 0) void books.append(voids);
  throw cause;
}
