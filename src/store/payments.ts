import type { Microcredits } from '../core/credits.ts';
import type { InstanceName } from './instance.ts';
import type { Write } from './store.ts';

/**
 * The states of a stored payment. A payment that is still `required`, `verifying`, `rejected` or `held` has moved no
 * money and is not stored.
 * `settling`: stored before anything is sent. `captured`: the money has arrived and is in the ledger, and the request
 * runs. `settled`: all of it was charged or became balance. `unknown`: it may have arrived, and the chain will tell.
 * `failed`: it will never arrive.
 */
export const PAYMENT_STATES = ['settling', 'captured', 'settled', 'unknown', 'failed'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** The purpose of a payment. A quote for one purpose cannot pay for another. */
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
  /** In lower case. */
  readonly payer: string;
  readonly nonce: string;
  /** Atomic units of the asset. */
  readonly amount: bigint;
  /** The value of `amount`. */
  readonly paid: Microcredits;
  /** The operator's part of `paid`; 0 once waived. */
  readonly fee: Microcredits;
  /** The most that the request may cost. */
  readonly bound: Microcredits;
  /** The charge of its request, 0 without one. Null until known, and for a payment that the chain resolved later. */
  readonly charged: Microcredits | null;
  /** The decision that it paid for; null for none. */
  readonly decision: number | null;
  /** ID of the API key sent with it; null for none. */
  readonly keyId: string | null;
  /** ID of the quote it paid. The chain shows every signature, but not its quote. */
  readonly quote: string;
  /** A keyed hash of its request, which confirms no guess without the secret. */
  readonly requestMark: string;
  /** Seconds since 1970. */
  readonly validBefore: number;
  readonly transaction: string | null;
  /** The reason while it is failed or unknown; else null. */
  readonly error: string | null;
  readonly created: number;
  readonly updated: number;
  /** The instance that settles it, or runs the request that it paid for; null for none. */
  readonly owner: InstanceName | null;
}

/** Identifies an authorization permanently. */
export type AuthorizationId = Pick<Payment, 'network' | 'asset' | 'payer' | 'nonce'>;

export interface PaymentQuery {
  readonly state: PaymentState | null;
  readonly payer: string | null;
  readonly limit: number;
  /** Only payments made before this one; null for all. */
  readonly before: number | null;
}

/**
 * The payments, each with one permanent row. A payment arrives once: `capture` fails its commit when the payment was
 * captured or settled before, so that the deposit in the same commit is not booked again. State: unsettled payments.
 */
export interface PaymentTable {
  /** For a new payment, before anything is sent: it claims the authorization. Refused where that has a payment. */
  insert(payment: Payment): Write;
  /**
   * Gives an unresolved payment another owner. Fails its commit with the reason `unmet` unless state and owner are still those
   * that were seen.
   */
  take(seen: Pick<Payment, 'id' | 'state' | 'owner'>, owner: InstanceName | null): Write;
  /** Only for the commit that has the deposit. */
  capture(payment: Payment): Write;
  /**
   * Records charge and fee of a captured payment, which then has no owner; of an abandoned one the charge alone. Outlives a disk
   * that refuses it, with the settlement that it rides with.
   */
  settle(id: number, charged: Microcredits | null, fee: Microcredits, time: number): Write;
  /**
   * Settles a captured payment without charge and fee, whose owner has ended. Fails its commit with the reason `unmet` unless
   * it is still captured by this owner.
   */
  abandon(seen: Pick<Payment, 'id' | 'owner'>, time: number): Write;
  /** Marks an unresolved payment unknown, with its transaction, error and owner. */
  doubt(payment: Payment): Write;
  /** Marks an unresolved payment failed, with its error. */
  fail(payment: Payment): Write;
  /** Removes an unresolved payment that was never sent. */
  remove(id: number): Write;
  get(id: number): Promise<Payment | null>;
  find(authorization: AuthorizationId): Promise<Payment | null>;
  /** Returns the settling, captured and unknown payments, oldest first. */
  unresolved(): Promise<Payment[]>;
  /** Returns the settling and unknown payments of a wallet for the same request, oldest first. */
  unsettledOf(payer: string, requestMark: string): Promise<Payment[]>;
  /** Returns the newest payments, newest first. */
  list(query: PaymentQuery): Promise<Payment[]>;
}

/** The wallets that the operator has blocked. Every write raises the news `wallets`. State: blocked wallets. */
export interface BlocklistTable {
  all(): Promise<string[]>;
  /** Adds a wallet, or replaces its note. Fails its commit with the reason `unmet` where the wallet is blocked with this note. */
  put(wallet: string, note: string, time: number): Write;
  /** Fails its commit with the reason `unmet` where the wallet is not blocked. */
  delete(wallet: string): Write;
}

/** Notes that facilitators need after a restart, by a digest. State: sent transactions. */
export interface PendingSettlementTable {
  get(key: string): Promise<string | null>;
  put(key: string, value: string, time: number): Write;
  delete(key: string): Write;
  /** Deletes entries that were put before a time, ms since 1970. */
  deleteBefore(time: number): Write;
}

/** The secret that quotes are sealed with. It never changes. State: quote secret. */
export interface QuoteSecretTable {
  get(): Promise<Uint8Array | null>;
  /** @param secret 32 bytes; ignored when there is a secret already. */
  putOnce(secret: Uint8Array): Write;
}

/** A nonce of a gas key that an instance has taken. */
export interface TakenNonce {
  readonly nonce: number;
  /** When, ms since 1970. */
  readonly time: number;
  readonly owner: InstanceName;
}

/** The last nonce of each gas key, so that no two instances send a transaction with the same. State: gas keys. */
export interface GasNonceTable {
  find(key: string): Promise<TakenNonce | null>;
  /** Fails its commit with the reason `unmet` unless the last nonce is still the one that was seen (null: there was none). */
  take(key: string, taken: TakenNonce, seen: TakenNonce | null): Write;
  /** Gives a nonce back that was never sent. Changes nothing once another was taken. */
  release(key: string, taken: TakenNonce): Write;
}
