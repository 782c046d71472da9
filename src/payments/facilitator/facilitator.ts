import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import type { PaymentNetwork } from '../../core/policy/payments.ts';
import type { TakenNonce } from '../../store/payments.ts';
import type { Write } from '../../store/store.ts';

/** An authorization that its payer has signed, and the requirements for which it was signed. */
export interface Authorization {
  /** The payload as received, and as sent to facilitators. */
  readonly payload: PaymentPayload;
  readonly requirements: PaymentRequirements;
  /** The address of the signer in lower case. */
  readonly payer: string;
  /** 32 bytes as `0x…`, in lower case. */
  readonly nonce: string;
  /** Atomic units; 0 for a proof that the signer holds the wallet, which pays nothing. */
  readonly amount: bigint;
  /** Seconds since 1970. */
  readonly validBefore: number;
}

export type Verification =
  | { readonly valid: true }
  /** The payer caused the fault, such as too low a balance or a used nonce. `reason` is an x402 code. */
  | { readonly valid: false; readonly reason: string };

export type SettleResult =
  /** The chain has confirmed the payment, whoever sent the transaction. */
  | { readonly state: 'captured'; readonly transaction: string }
  /** The payment has failed for good: nothing was sent, or the chain refused it. */
  | { readonly state: 'failed'; readonly reason: string }
  /** The payment may have happened or may still happen. `transaction` is the sent transaction, if it is known. */
  | { readonly state: 'unknown'; readonly reason: string; readonly transaction: string | null };

/** The chain or the facilitator is not available, and nothing was sent. The message is only for logs. */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable';
}

/** Verifies and settles payments on one network. */
export interface Facilitator {
  /**
   * Checks whether an authorization could be settled now. The check reserves nothing.
   * @throws FacilitatorUnavailable, by rejecting
   */
  verify(authorization: Authorization): Promise<Verification>;
  /**
   * Settles an authorization and waits for the result.
   * @throws FacilitatorUnavailable, by rejecting, if nothing was sent
   */
  settle(authorization: Authorization): Promise<SettleResult>;
  /** Warns the operator early if the gas key has little left. Never rejects. */
  watch?(): Promise<void>;
  /** The last known gas balance as a multiple of the alarm threshold. Null before the first check, and without an alarm. */
  readonly gasRatio?: number | null;
  close(): void;
}

/** The final outcome of an authorization according to the chain. */
export type AuthorizationOutcome =
  /** The payee received the money in this transaction. */
  | { readonly state: 'used'; readonly transaction: string }
  /** The payer cancelled the authorization, or used its nonce for something else. A cancelled authorization will never pay. */
  | { readonly state: 'cancelled' }
  /** The authorization was not used. `expired` follows the chain's time, so an expired authorization will never be used. */
  | { readonly state: 'unused'; readonly expired: boolean };

/** Identifies an authorization on the chain. */
export interface AuthorizationQuery extends Pick<Authorization, 'payer' | 'nonce' | 'amount' | 'validBefore'> {
  readonly asset: string;
  readonly payTo: string;
  /** The time at which this gateway first saw the payment, ms since 1970. The search ignores older blocks. */
  readonly since: number;
}

export interface Chain {
  /**
   * Checks once whether the chain and the asset match the policy.
   * @throws FacilitatorUnavailable while no node answers, and an Error of one sentence if they do not match
   */
  check(): Promise<void>;
  /** @throws FacilitatorUnavailable, by rejecting */
  outcome(query: AuthorizationQuery): Promise<AuthorizationOutcome>;
}

export interface NetworkClients {
  readonly facilitator: Facilitator;
  readonly chain: Chain;
}

/** The transactions of settlements that have not ended. The transactions survive a restart; old transactions are deleted. */
export interface PendingSettlements {
  get(key: string): Promise<string | undefined>;
  /**
   * Stores a transaction in one commit with `also`. The transaction is durable when the promise resolves.
   * @throws StoreError, by rejecting
   */
  set(key: string, value: string, also?: readonly Write[]): Promise<void>;
  delete(key: string): Promise<void>;
}

/** Orders the nonces of a key on a chain for all senders in this process. During a reload, the key is open twice. */
export interface GasQueue {
  tail: Promise<unknown>;
  /** The last nonce that a node accepted, and when it did. */
  last: { readonly nonce: number; readonly at: number } | null;
}

/** The claim of a nonce. */
interface NonceClaim {
  /** A write whose commit fails with the reason `unmet` if another server has claimed a nonce since. */
  readonly write: Write;
  /** Releases the nonce, because its transaction was certainly not sent. */
  release(): void;
}

/** The nonces of gas keys by chain and address, claimed by any server. */
export interface GasNonces {
  queueOf(key: string): GasQueue;
  /**
   * The last claimed nonce; null for none.
   * @throws StoreError, by rejecting
   */
  last(key: string): Promise<TakenNonce | null>;
  /** Whether another server may be about to send the nonce's transaction. */
  isHeld(taken: TakenNonce): boolean;
  /** @param seen the last claimed nonce when this server read it */
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
 * Opens a network without sending anything.
 * @throws an Error of one sentence for the operator, for example about a missing variable or a malformed key
 */
export type OpenNetwork = (policy: PaymentNetwork, host: NetworkHost) => Promise<NetworkClients>;

/**
 * The result of a refused settlement. The chain may show that the money has moved anyway.
 * @throws like `outcome`
 */
export async function resultOfRefusal(
  { chain, host }: { readonly chain: Chain; readonly host: NetworkHost },
  authorization: Authorization,
  reason: string,
): Promise<SettleResult> {
  const outcome = await chain.outcome(queryOf(authorization, host.now()));
  if (outcome.state === 'used') return { state: 'unknown', reason, transaction: outcome.transaction };
  return { state: 'failed', reason };
}

/** Returns a reason if it has the form of an x402 code. Any other text may contain addresses, so it is replaced. */
export const reasonCode = (reason: string | null | undefined): string =>
  typeof reason === 'string' && /^[a-z0-9_]{1,80}$/.test(reason) ? reason : 'unexpected_error';

export function queryOf(authorization: Authorization, since: number): AuthorizationQuery {
  const { asset, payTo } = authorization.requirements;
  return { ...authorization, asset, payTo, since };
}
