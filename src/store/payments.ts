import type { Microcredits } from '../core/money/credits.ts';
import type { InstanceName } from './instance.ts';
import type { Write } from './store.ts';

/**
 * The states of a stored payment. Payments that are `required`, `verifying`, `rejected` or `held` have moved no money and are not stored.
 * `settling`: stored before anything is sent. `captured`: the money has arrived and is in the ledger, and the request runs. `settled`: the
 * whole payment was charged or was added to the balance. `unknown`: the money may have arrived, and the blockchain will show it. `failed`:
 * the money will never arrive.
 */
export const PAYMENT_STATES = ['settling', 'captured', 'settled', 'unknown', 'failed'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** The purpose of a payment. A quote for one purpose cannot pay for another purpose. */
export const PAYMENT_PURPOSES = ['chat', 'topup', 'keys'] as const;
export type PaymentPurpose = (typeof PAYMENT_PURPOSES)[number];

/** A stored payment. Amounts are microcredits except `amount`; times are ms since 1970. */
export interface Payment {
  readonly id: number;
  readonly state: PaymentState;
  readonly purpose: PaymentPurpose;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** Address of the paying wallet, in lower case. */
  readonly payer: string;
  readonly nonce: string;
  /** The amount in atomic units of the asset. */
  readonly amount: bigint;
  /** The value of `amount` in microcredits. */
  readonly paid: Microcredits;
  /** The operator's part of `paid`, in microcredits; 0 once the operator has waived this part. */
  readonly fee: Microcredits;
  /** The most that the paid request may cost, in microcredits. */
  readonly bound: Microcredits;
  /**
   * The charge of the payment's request, 0 without a request. Null until the charge is known, and for a payment that was resolved later
   * with the blockchain's data.
   */
  readonly charged: Microcredits | null;
  /** The ID of the decision that the payment paid for; null for none. */
  readonly decision: number | null;
  /** ID of the API key that was sent with the payment; null for none. */
  readonly keyId: string | null;
  /** ID of the quote that was paid. Signatures are public on the blockchain, but the quote of a payment is not. */
  readonly quote: string;
  /** A keyed hash of the request. Without the secret key, the hash cannot be used to check a guess of the request. */
  readonly requestMark: string;
  /** The time until which the authorization is valid, seconds since 1970. */
  readonly validBefore: number;
  readonly transaction: string | null;
  /** Why the payment failed or is unknown; null for a payment in another state. */
  readonly error: string | null;
  readonly created: number;
  readonly updated: number;
  /** The instance that settles the payment, or runs the request that the payment paid for; null for none. */
  readonly owner: InstanceName | null;
}

/** The data that permanently identifies a payment authorization. */
export type AuthorizationId = Pick<Payment, 'network' | 'asset' | 'payer' | 'nonce'>;

export interface PaymentQuery {
  readonly state: PaymentState | null;
  readonly payer: string | null;
  readonly limit: number;
  /** Selects only payments created before the payment with this ID; null for all payments. */
  readonly before: number | null;
}

/**
 * The table of payments. Each payment has one row, which is never deleted once anything was sent. The commit of `capture` fails if the
 * payment was captured or settled before, so the deposit in the same commit is booked only once. State: unsettled payments.
 */
export interface PaymentTable {
  /**
   * Inserts a new payment before anything is sent, and so claims its authorization. The store refuses the payment if the authorization
   * already has a payment.
   */
  insert(payment: Payment): Write;
  /**
   * Gives an unresolved payment a new owner. The commit fails with the reason `unmet` if the state or the owner of the payment differs from
   * `seen`.
   */
  take(seen: Pick<Payment, 'id' | 'state' | 'owner'>, owner: InstanceName | null): Write;
  /** Marks a payment as captured. This write may only be used in the commit that contains the deposit. */
  capture(payment: Payment): Write;
  /**
   * Records charge and fee of a captured payment and removes its owner. For an abandoned payment, `settle` records only the charge. While
   * the disk refuses writes, this write is kept in the spool, together with the settlement of the request.
   */
  settle(id: number, charged: Microcredits | null, fee: Microcredits, time: number): Write;
  /**
   * Settles a captured payment whose owner has ended, without charge and fee. The commit fails with the reason `unmet` unless this owner
   * still has the payment and the payment is still captured.
   */
  abandon(seen: Pick<Payment, 'id' | 'owner'>, time: number): Write;
  /** Marks an unresolved payment as unknown, with its transaction, error and owner. */
  doubt(payment: Payment): Write;
  /** Marks an unresolved payment as failed, with its error. */
  fail(payment: Payment): Write;
  /** Deletes an unresolved payment that was never sent. */
  remove(id: number): Write;
  get(id: number): Promise<Payment | null>;
  find(authorization: AuthorizationId): Promise<Payment | null>;
  /** Returns the settling, captured and unknown payments, oldest first. */
  unresolved(): Promise<Payment[]>;
  /** Returns the settling and unknown payments of a wallet for the same request, oldest first. */
  unsettledOf(payer: string, requestMark: string): Promise<Payment[]>;
  /** Returns the newest payments that match a filter, newest first. */
  list(query: PaymentQuery): Promise<Payment[]>;
}

/** The wallets that the operator has blocked. Every write raises the news `wallets`. State: blocked wallets. */
export interface BlocklistTable {
  all(): Promise<string[]>;
  /**
   * Blocks a wallet, or replaces its note. The commit fails with the reason `unmet` if the wallet is already blocked with the same note.
   */
  put(wallet: string, note: string, time: number): Write;
  /** Unblocks a wallet. The commit fails with the reason `unmet` if the wallet is not blocked. */
  delete(wallet: string): Write;
}

/** Notes that payment facilitators need after a restart, by digest. State: sent transactions. */
export interface PendingSettlementTable {
  get(key: string): Promise<string | null>;
  put(key: string, value: string, time: number): Write;
  delete(key: string): Write;
  /** Deletes notes that were stored before a time, ms since 1970. */
  deleteBefore(time: number): Write;
}

/** The secret that encrypts quotes, and that never changes. State: quote secret. */
export interface QuoteSecretTable {
  get(): Promise<Uint8Array | null>;
  /** Stores the secret that encrypts quotes, unless a secret is already stored. @param secret 32 bytes */
  putOnce(secret: Uint8Array): Write;
}

/** A transaction number (nonce) of a gas key that an instance has taken. */
export interface TakenNonce {
  readonly nonce: number;
  /** When the nonce was taken, ms since 1970. */
  readonly time: number;
  readonly owner: InstanceName;
}

/** The last nonce of each gas key, so that no two instances send a transaction with the same nonce. State: gas keys. */
export interface GasNonceTable {
  find(key: string): Promise<TakenNonce | null>;
  /**
   * Takes a nonce. The commit fails with the reason `unmet` if the stored last nonce differs from `seen`; with `seen` null, if any nonce is
   * stored.
   */
  take(key: string, taken: TakenNonce, seen: TakenNonce | null): Write;
  /** Releases a nonce whose transaction was never sent. The call changes nothing once a later nonce was taken. */
  release(key: string, taken: TakenNonce): Write;
}
