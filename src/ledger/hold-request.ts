import type { Caller } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Write } from '../store/store.ts';

/** The beginning of a hold that grows with its answer, in microcredits. */
export interface FirstTranche {
  /** For an answer of the usual length. */
  readonly wanted: Microcredits;
  /** For the least useful answer: enough where the funds can never pay more. */
  readonly least: Microcredits;
}

/** The money that a request asks to be set aside, with its caller and who pays. */
export interface HoldRequest {
  /** The decision's ID, which is also the hold's. The time in it selects the windows. */
  readonly id: number;
  readonly caller: Caller;
  /** The `model` of the request. */
  readonly selector: string;
  /** Its session, as `gateway/prompt/sessions.ts` names it; absent for none. */
  readonly session?: string;
  /** The agent of that session; absent for none. */
  readonly agent?: string;
  /** The request's `agent_wallet` beside a key: stored with the hold, and moves no money. */
  readonly agentWallet: string | null;
  /** The holder whose balance pays in place of the caller's own; null for the caller's own. */
  readonly holder: string | null;
  /** The worst case of the choice, then those of its fallbacks. */
  readonly amounts: readonly [Microcredits, ...Microcredits[]];
  /** The worst case of the choice as if no fund had capped its output. Absent: the first amount. */
  readonly whole?: Microcredits;
  /** The worst case of the choice's least useful output: a hold of so much will do. Null if the output must not be capped. */
  readonly least: Microcredits | null;
  /**
   * The worst case of an answer several times as long as usual. Where the output is capped, more is held only within a share of the
   * free money, so that others find some, too; and while others will release it, the request waits for so much. Absent: all that
   * is free is held, from `least` on.
   */
  readonly ample?: Microcredits;
  /**
   * Set where the hold may grow with the answer: then only the first tranche is held, unless the whole is at most this share of
   * the free money, or a fund must not cap outputs.
   */
  readonly growth?: { readonly wholeShare: number; readonly first: () => FirstTranche | null };
  /** The request's `budget_limit`; null without one. The first amount must not exceed it. */
  readonly limit: Microcredits | null;
  /** How long to wait for money that other requests hold, ms. */
  readonly waitMs: number;
  /** Ends the wait when the caller is gone. */
  readonly signal?: AbortSignal;
  /** The time at which an unsettled hold is closed by rule, ms since 1970. */
  readonly expiresAt: number;
  /** Writes for the commit of the hold: where one of them is refused, nothing is held. Absent: none. */
  readonly also?: readonly Write[];
}
