import { pause, type Timers } from '../core/time/timers.ts';
import type { LedgerBooks, LedgerOp, OpResult } from '../store/books.ts';
import { StoreError, type Write } from '../store/store.ts';

/** If the answer to a batch is lost, the batch is sent again for this long, ms, with `PAUSE_MS` between attempts. */
const REPEAT_MS = 2_000;
const PAUSE_MS = 50;

interface RepeatTools {
  readonly books: Pick<LedgerBooks, 'apply' | 'append'>;
  readonly timers: Timers;
  /** Returns ms since 1970. */
  readonly now: () => number;
}

const isUnknown = (cause: unknown): boolean => cause instanceof StoreError && cause.reason === 'unknown';

/**
 * Applies a batch. If the answer of the store is lost, the same batch is sent again; the IDs of the operations make sure that the batch
 * happens once. If the store does not answer within 2 s, the holds and captures of the batch are voided before any other operation. The
 * promise then rejects with the last error, and the batch holds no money, now or later. Operations of the batch other than holds and
 * captures may have happened, and can be sent again later.
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
      // The code continues after any error of a repeated attempt, because the first attempt may have happened.
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
