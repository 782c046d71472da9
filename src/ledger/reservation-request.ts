import type { Caller } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';

/** What a request asks to be set aside. */
export interface ReservationRequest {
  /** The decision's ID, made before anything is sent upstream; one number names both. It tells the window, too. */
  readonly id: number;
  readonly caller: Caller;
  /** The `model` of the request. */
  readonly selector: string;
  /** What the request named as `agent_wallet` beside a key: kept with the reservation, and moves nothing. */
  readonly agentWallet: string | null;
  /** The wallet whose balance pays in place of the caller's own; null for the caller's own. */
  readonly payer: string | null;
  /** The worst case of the choice, then those of its fallbacks. */
  readonly amounts: readonly [Microcredits, ...Microcredits[]];
  /** The request's `budget_limit`; null without one. A first amount above it is a mistake of the program. */
  readonly limit: Microcredits | null;
  /** How long to wait for money that other reservations hold, ms. */
  readonly waitMs: number;
  /** Ends the wait when the caller is gone. */
  readonly signal?: AbortSignal;
  /** When an unsettled hold is a defect and is closed by rule, ms since 1970. */
  readonly expiresAt: number;
}
