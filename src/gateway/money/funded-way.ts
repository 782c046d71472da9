import type { Hold } from '../../ledger/hold.ts';
import type { RankedUpstream } from '../../policy/runtime/upstream.ts';
import { worstCase } from '../../routing/estimate.ts';
import { StoreError } from '../../store/store.ts';
import { type DecidedRequest, roomyWay, trancheTerms } from './growth.ts';
import { raisedWay } from './raised-way.ts';
import { leastTranche, type TrancheTerms } from './tranches.ts';

/** An endpoint to try, whose attempt is paid for. */
export interface FundedWay extends RankedUpstream {
  /** The terms on which the answer is paid for while the model writes it; absent if the whole worst case of the answer is held. */
  readonly growth?: TrancheTerms;
}

/**
 * Returns an endpoint with the money for its attempt. If the hold is too small, the hold is raised first; null if the hold cannot be
 * raised.
 */
export function fundedWay(
  decided: DecidedRequest,
  hold: Pick<Hold, 'left' | 'reserved' | 'grows' | 'raise'>,
  way: RankedUpstream,
): FundedWay | Promise<FundedWay | null> {
  const roomy = hold.grows ? roomyWay(decided, way) : way;
  const growth = hold.grows ? trancheTerms(decided, roomy) : null;
  if (growth) return growingWay(hold, { ...roomy, growth });
  const { ranked, upstream } = way;
  const missing = worstCase(upstream.endpoint, upstream.model, decided.decision.facts, ranked.outputCap) - hold.left;
  return missing <= 0 ? way : raisedWay(decided, hold, way, missing);
}

/** Returns an endpoint once the least amount with which its answer may begin is held; null if that amount cannot be held. */
function growingWay(
  hold: Pick<Hold, 'left' | 'raise'>,
  way: FundedWay & { readonly growth: TrancheTerms },
): FundedWay | Promise<FundedWay | null> {
  const missing = leastTranche(way.growth) - hold.left;
  if (missing <= 0) return way;
  return hold.raise([missing]).then(
    (isRaised) => (isRaised ? way : null),
    (cause) => {
      // Money of a raised hold must not be spent if the raise cannot be stored.
      if (cause instanceof StoreError) return null;
      throw cause;
    },
  );
}
