import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import type { PaymentNetwork } from '../../core/payment-policy.ts';
import type { TakenNonce } from '../../store/payments.ts';
import type { Write } from '../../store/store.ts';

/** An authorization signed by its payer, and the requirements it was signed for. */
export interface Authorization {
  /** As received, and as sent to facilitators. */
  readonly payload: PaymentPayload;
  readonly requirements: PaymentRequirements;
  /** The signer, in lower case. */
  readonly payer: string;
  /** 32 bytes as `0x…`, in lower case. */
  readonly nonce: string;
  /** Atomic units; 0 for a mere proof that the signer holds the wallet. */
  readonly amount: bigint;
  /** Seconds since 1970. */
  readonly validBefore: number;
}

export type Verification =
  | { readonly valid: true }
  /** A fault of the payer, such as too low a balance or a used nonce. `reason` is an x402 code. */
  | { readonly valid: false; readonly reason: string };

export type SettleResult =
  /** Confirmed by the chain, from any sender of the transaction. */
  | { readonly state: 'captured'; readonly transaction: string }
  /** Final: nothing was sent, or the chain refused it. */
  | { readonly state: 'failed'; readonly reason: string }
  /** It may have happened, or may yet. `transaction`: the one that was sent, if known. */
  | { readonly state: 'unknown'; readonly reason: string; readonly transaction: string | null };

/** The chain or the facilitator cannot be asked now, and nothing was sent. The message is for logs only. */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable';
}

/** Verifies and settles payments on one network. */
export interface Facilitator {
  /** Whether it could be settled now. Reserves nothing. Throws FacilitatorUnavailable. */
  verify(authorization: Authorization): Promise<Verification>;
  /** Settles it, and waits for the result. Throws FacilitatorUnavailable where nothing was sent. */
  settle(authorization: Authorization): Promise<SettleResult>;
  /** Alarms the operator early if the gas key is low. Never rejects. */
  watch?(): Promise<void>;
  /** The last seen gas balance as a multiple of the alarm threshold. Null before, and without an alarm. */
  readonly gasRatio?: number | null;
  close(): void;
}

/** The outcome of an authorization on the chain, which is final where others are unsure. */
export type AuthorizationOutcome =
  /** Money moved to the payee in this transaction. */
  | { readonly state: 'used'; readonly transaction: string }
  /** The payer cancelled it, or used its nonce otherwise: it will never pay. */
  | { readonly state: 'cancelled' }
  /** Not used. `expired` by the chain's own time, so that it never will be. */
  | { readonly state: 'unused'; readonly expired: boolean };

/** Identifies an authorization on the chain. */
export interface AuthorizationQuery extends Pick<Authorization, 'payer' | 'nonce' | 'amount' | 'validBefore'> {
  readonly asset: string;
  readonly payTo: string;
  /** When it was first seen, ms since 1970. Older blocks are not searched. */
  readonly since: number;
}

export interface Chain {
  /**
   * Checks once that the chain and the asset match the policy.
   * @throws FacilitatorUnavailable while no node answers, and an Error of one sentence for a mismatch.
   */
  check(): Promise<void>;
  /** @throws FacilitatorUnavailable. */
  outcome(query: AuthorizationQuery): Promise<AuthorizationOutcome>;
}

export interface NetworkClients {
  readonly facilitator: Facilitator;
  readonly chain: Chain;
}

/** The transactions sent for settlements that have not ended. They survive a restart; old ones are deleted. */
export interface PendingSettlements {
  get(key: string): Promise<string | undefined>;
  /** Commits together with `also`. Durable when it resolves. Throws StoreError. */
  set(key: string, value: string, also?: readonly Write[]): Promise<void>;
  delete(key: string): Promise<void>;
}

/** Orders the nonces of a key on a chain for all its senders in this process: during a reload the key is open twice. */
export interface GasQueue {
  tail: Promise<unknown>;
  /** The last nonce that a node accepted, and when. */
  last: { readonly nonce: number; readonly at: number } | null;
}

/** The claim of a nonce. */
interface NonceClaim {
  /** Refuses its commit with the reason `unmet` where another instance has claimed one since. */
  readonly write: Write;
  /** Gives the nonce back: its transaction was certainly not sent. */
  release(): void;
}

/** The nonces of gas keys, by the chain and address of each: those of all instances. */
export interface GasNonces {
  queueOf(key: string): GasQueue;
  /** The last nonce that was claimed; null for none. Throws StoreError. */
  last(key: string): Promise<TakenNonce | null>;
  /** Whether another instance may be about to send it. */
  isHeld(taken: TakenNonce): boolean;
  /** @param seen the last one, as it was seen */
  claim(key: string, nonce: number, seen: TakenNonce | null): NonceClaim;
}

/** The services that a network needs from its server. */
export interface NetworkHost {
  env(name: string): string | undefined;
  readonly pending: PendingSettlements;
  readonly gasNonces: GasNonces;
  /** Milliseconds since 1970. */
  now(): number;
  /** Reports a problem to the operator, in one sentence without secrets. */
  onAlarm(message: string): void;
}

/**
 * Opens a network without network access.
 * @throws an Error of one sentence for the operator, such as a variable that is not set or a malformed key.
 */
export type OpenNetwork = (policy: PaymentNetwork, host: NetworkHost) => Promise<NetworkClients>;

/** The result of a settlement that was refused. The chain may show that the money has moved all the same. Throws as `outcome`. */
export async function resultOfRefusal(
  { chain, host }: { readonly chain: Chain; readonly host: NetworkHost },
  authorization: Authorization,
  reason: string,
): Promise<SettleResult> {
  const outcome = await chain.outcome(queryOf(authorization, host.now()));
  if (outcome.state === 'used') return { state: 'unknown', reason, transaction: outcome.transaction };
  return { state: 'failed', reason };
}

/** Returns a reason that has the form of an x402 code. Any other text may contain addresses. */
export const reasonCode = (reason: string | null | undefined): string =>
  typeof reason === 'string' && /^[a-z0-9_]{1,80}$/.test(reason) ? reason : 'unexpected_error';

export function queryOf(authorization: Authorization, since: number): AuthorizationQuery {
  const { asset, payTo } = authorization.requirements;
  return { ...authorization, asset, payTo, since };
}
