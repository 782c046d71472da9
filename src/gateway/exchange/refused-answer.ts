import type { RankedModel } from '../../core/decision/decision.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { Hold } from '../../ledger/hold.ts';
import { worstCase } from '../../routing/estimate.ts';
import { StoreError } from '../../store/store.ts';
import { entryLine } from '../money/charge.ts';
import { completeUsage } from '../money/meter.ts';
import type { Attempt } from './attempt.ts';

/** Whether the model or a content filter refused to answer, in every choice. */
export const isRefusedAnswer = ({ meter }: Attempt, { choices }: Facts): boolean => meter.refused >= choices;

/**
 * Holds the money for the attempt that follows a refused answer. The refused answer is paid from the same hold.
 * @returns false if the funds have too little
 */
export async function hasRoomFor(
  next: RankedModel,
  attempt: Attempt,
  hold: Pick<Hold, 'left' | 'raise'>,
  facts: Facts,
  now: () => number,
): Promise<boolean> {
  const { model, endpoint, meter, expected } = attempt;
  const spent = meter.reported
    ? entryLine(attempt, completeUsage(meter, expected), now).cost
    : worstCase(endpoint, model, facts, Math.max(1, meter.counted));
  const missing = next.bound + spent - hold.left;
  if (missing <= 0) return true;
  try {
    return await hold.raise([missing]);
  } catch (cause) {
    // Money of a raised hold must not be spent if the raise cannot be stored.
    if (cause instanceof StoreError) return false;
    throw cause;
  }
}

/** Reads a refused answer to its end, because many providers report its usage there. @param isOver whether the exchange has ended */
export async function readToEnd(attempt: Attempt, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const batch = attempt.read();
    if (batch instanceof Promise) await batch;
    else if (batch === null || attempt.meter.failure !== null) return;
  }
}
