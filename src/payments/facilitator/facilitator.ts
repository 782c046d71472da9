import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import type { PaymentNetwork } from '../../core/payment-policy.ts';

/** An authorization as its payer signed it, with the requirements that it was signed for. */
export interface Authorization {
  /** As it came: what is handed on. */
  readonly payload: PaymentPayload;
  readonly requirements: PaymentRequirements;
  /** The signer, in lower case. */
  readonly payer: string;
  /** 32 bytes as `0x…`, in lower case. */
  readonly nonce: string;
}

export type Verification =
  | { readonly valid: true }
  /** By the payer's fault: too little money, a nonce that was used. `reason` is x402's own word. */
  | { readonly valid: false; readonly reason: string };

export type SettlementResult =
  /** By the chain's own word, whoever had it settled. */
  | { readonly state: 'captured'; readonly transaction: string }
  /** Certainly not, now or later: nothing was sent, or the chain refused it. */
  | { readonly state: 'failed'; readonly reason: string }
  /** It may have happened, or may yet. `transaction` where one was sent that is known. */
  | { readonly state: 'unknown'; readonly reason: string; readonly transaction: string | null };

/**
 * The chain or the facilitator cannot be asked just now: nothing was sent. The message may be logged, and is for nobody
 * else.
 */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable';
}

/** Has payments on one network verified and settled. */
export interface Facilitator {
  /** Whether it could be settled now. Reserves nothing. Rejects with FacilitatorUnavailable. */
  verify(authorization: Authorization): Promise<Verification>;
  /** Has it settled, and waits for that. Rejects with FacilitatorUnavailable where nothing was sent. */
  settle(authorization: Authorization): Promise<SettlementResult>;
  /** Tells the operator, before anybody pays, what it lacks that it settles with. Never rejects. */
  watch?(): Promise<void>;
  /** What it settles with, as last seen: 1 is the least that raises no alarm. Null before, and where there is no alarm. */
  readonly gasRatio?: number | null;
  /** Ends what runs for it. */
  close(): void;
}

/** What became of an authorization, by the chain itself: the judge of what is not known. */
export type AuthorizationOutcome =
  /** Money moved to the payee, in this transaction. */
  | { readonly state: 'used'; readonly transaction: string }
  /** The payer cancelled it, or used it up otherwise: it will never pay. */
  | { readonly state: 'cancelled' }
  /** It was not used; `expired` by the chain's own time, so that it never will be. */
  | { readonly state: 'unused'; readonly expired: boolean };

/** What is needed to ask for it. */
export interface AuthorizationQuery {
  readonly asset: string;
  readonly payer: string;
  readonly payTo: string;
  readonly nonce: string;
  /** Atomic units. */
  readonly amount: bigint;
  /** Seconds since 1970. */
  readonly validBefore: number;
  /** When it was seen first, ms since 1970: older blocks need not be searched. */
  readonly since: number;
}

/** Reads one chain. */
export interface Chain {
  /**
   * Looks once whether the chain and the asset are what the policy says, and remembers it. Rejects with
   * FacilitatorUnavailable while nobody answers, and with an Error of one sentence where something differs.
   */
  check(): Promise<void>;
  /** Rejects with FacilitatorUnavailable. */
  outcome(trace: AuthorizationQuery): Promise<AuthorizationOutcome>;
}

/** A network that is ready to be paid on. */
export interface NetworkClients {
  readonly facilitator: Facilitator;
  readonly chain: Chain;
}

/** Which transaction was sent for a settlement that has not ended. It outlives this process; old ones are forgotten. */
export interface PendingSettlements {
  get(key: string): Promise<string | undefined>;
  /** Durable when it resolves. Rejects with StoreError. */
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
}

/** What a network is opened with. */
export interface NetworkHost {
  /** A variable of the environment. */
  env(name: string): string | undefined;
  readonly pending: PendingSettlements;
  /** Milliseconds since 1970. */
  now(): number;
  /** Something that an operator must see, in one sentence and without secrets. */
  onAlarm(message: string): void;
}

/**
 * Opens a network, and asks nobody yet. Rejects with an Error of one sentence that an operator can act on: a variable
 * that is not set, a key that is none.
 */
export type OpenNetwork = (policy: PaymentNetwork, means: NetworkHost) => Promise<NetworkClients>;
