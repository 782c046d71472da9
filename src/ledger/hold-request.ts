import type { Microcredits } from '../core/money/credits.ts';
import type { Caller } from '../core/people/caller.ts';
import type { Write } from '../store/store.ts';

/** The first part of a hold that grows with its answer, microcredits. */
export interface FirstTranche {
  /** The amount that is enough for an answer of the usual length. */
  readonly wanted: Microcredits;
  /** The amount that is enough for the shortest useful answer. The hold starts with this amount if the funds can never pay more. */
  readonly least: Microcredits;
}

/** A request for money to be set aside, with its caller and payer. Amounts are microcredits. */
export interface HoldRequest {
  /** The ID of the decision, which is also the ID of the hold. The time in the ID selects the windows of budgets. */
  readonly id: number;
  readonly caller: Caller;
  /** The `model` of the request. */
  readonly selector: string;
  /** The session of the request, as `gateway/prompt/sessions.ts` names it; absent if the request has no session. */
  readonly session?: string;
  /** The agent within the session; absent if the request names no agent. */
  readonly agent?: string;
  /** The `agent_wallet` of a request that a key pays for. The ledger stores this wallet with the hold, and moves no money of the wallet. */
  readonly agentWallet: string | null;
  /** The wallet whose balance pays instead of the caller's own; null for the caller's own. */
  readonly holder: string | null;
  /** The worst case of the chosen model, then the worst cases of its fallbacks. */
  readonly amounts: readonly [Microcredits, ...Microcredits[]];
  /** The worst case of the chosen model if no fund had capped its output. If absent, this amount is the first of `amounts`. */
  readonly whole?: Microcredits;
  /** The worst case for the shortest useful output: a hold of this amount is enough. Null if the output must not be capped. */
  readonly least: Microcredits | null;
  /**
   * The worst case of an answer several times as long as usual. If the output is capped, a hold takes more than this amount only within a
   * share of the free money, so that other requests find free money, too. A capped request also waits for this amount as long as open holds
   * will release it. If absent, the hold takes all free money, if that is at least `least`.
   */
  readonly ample?: Microcredits;
  /**
   * Present if the hold may grow with the answer. The ledger then holds only the first tranche, with two exceptions: the whole amount is at
   * most `wholeShare` of the free money, or a fund must not cap outputs.
   */
  readonly growth?: { readonly wholeShare: number; readonly first: () => FirstTranche | null };
  /** The `budget_limit` of the request; null if the request has no limit. The first of `amounts` must not exceed this limit. */
  readonly limit: Microcredits | null;
  /** How long to wait for money that other requests hold, ms. */
  readonly waitMs: number;
  /** A signal that ends the wait for money when the client disconnects. */
  readonly signal?: AbortSignal;
  /** When a hold that was not settled is closed by the ledger, ms since 1970. */
  readonly expiresAt: number;
  /** Writes for the commit of the hold. If a write is refused, no money is held. If absent, the commit has no further writes. */
  readonly also?: readonly Write[];
}
