import { worstCase } from '../routing/estimate.ts';
import { StoreError } from '../store/store.ts';
import type { FundedHold } from './funding.ts';
import { type DecidedWay, roomyWay, trancheTerms } from './growth.ts';
import { raisedWay } from './payable-way.ts';
import type { RankedEndpoint } from './plan.ts';
import { leastTranche, type TrancheTerms } from './tranches.ts';

/** An endpoint whose attempt is paid for. */
export interface FundedWay {
  readonly way: RankedEndpoint;
  /** The terms on which its answer is paid for as it is written; null where its worst case is held. */
  readonly growth: TrancheTerms | null;
}

/** Returns an endpoint with its money, after raising the hold where it lacks some; null where that is not possible. */
export function fundedWay(
  context: DecidedWay & Parameters<typeof raisedWay>[0] & { readonly funded: FundedHold },
  way: RankedEndpoint,
): FundedWay | Promise<FundedWay | null> {
  const { hold } = context.funded;
  const { ranked, at } = way;
  const roomy = hold.grows ? roomyWay(context, way) : way;
  const growth = hold.grows ? trancheTerms(context, roomy) : null;
  const model = context.runtime.snapshot.models[ranked.model]!;
  const needed = growth
    ? leastTranche(growth)
    : worstCase(model.endpoints[at]!.price, model, context.decision.facts, ranked.outputCap);
  const missing = needed - hold.left;
  const funded = { way: growth ? roomy : way, growth };
  if (missing <= 0) return funded;
  if (!growth) return raisedWay(context, way, missing).then((payable) => payable && { way: payable, growth: null });
  return hold.raise([missing]).then(
    (isRaised) => (isRaised ? funded : null),
    (cause) => {
      // A raise that cannot be stored must not be spent.
      if (cause instanceof StoreError) return null;
      throw cause;
    },
  );
}
