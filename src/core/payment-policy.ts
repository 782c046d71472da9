import type { Microcredits } from './credits.ts';

/** The section `payments.x402` of the policy, where it is enabled: agents pay for themselves. */
export interface PaymentPolicy {
  /** Where payments are taken, in the order in which they are offered. */
  readonly networks: readonly [PaymentNetwork, ...PaymentNetwork[]];
  /** Where agents reach this gateway, without a slash at its end; null for the address that a request was sent to. */
  readonly publicUrl: string | null;
  /** How long a quote can be paid, ms. */
  readonly quoteTtlMs: number;
  /** The most that a request without a key is quoted for: its worst case is capped as by a `budget_limit`. */
  readonly quoteMax: Microcredits;
  /** The least that is settled on a chain: what is above the price becomes balance. */
  readonly chargeMin: Microcredits;
  /** The fee that a settlement adds to a request's price. */
  readonly settleFee: Microcredits;
  /** How long an authorization must still be valid when it is to be settled, ms. */
  readonly settleMarginMs: number;
  /** Whether a request without a key must name its `agent_wallet`. */
  readonly walletRequired: boolean;
  /** Whether the balance of a wallet that is named and not proved lowers its quote, which tells of it. */
  readonly quotesBalance: boolean;
  /** How much one top-up can be; null where there are none. */
  readonly prepaid: { readonly min: Microcredits; readonly max: Microcredits } | null;
  /** Bytes of the largest body of a request without a key. */
  readonly bodyBytesMax: number;
}

/** A stablecoin on one chain, and how payments in it are settled. Amounts in it are atomic units. */
export interface PaymentNetwork {
  /** CAIP-2, such as `eip155:84532`. */
  readonly id: string;
  readonly chainId: number;
  readonly asset: PaymentAsset;
  /** The operator's address, as the policy writes it. */
  readonly payTo: string;
  /** Addresses of nodes, the first of them asked first. Empty where `rpcUrlsEnv` names a variable with them. */
  readonly rpcUrls: readonly string[];
  /** The variable that holds addresses of nodes, divided by commas; null for none. */
  readonly rpcUrlsEnv: string | null;
  readonly facilitator: FacilitatorPolicy;
  /** The asset's exact price: so many microcredits for so many atomic units, in lowest terms. */
  readonly rate: { readonly microcredits: bigint; readonly atomic: bigint };
}

export interface PaymentAsset {
  /** Of the token's contract, as the policy writes it. */
  readonly address: string;
  /** Name and version of its EIP-712 domain. */
  readonly name: string;
  readonly version: string;
  readonly decimals: number;
}

/** The facilitator: this process, with its own key that pays the gas, or a service. */
export type FacilitatorPolicy =
  | {
      readonly mode: 'local';
      readonly privateKeyEnv: string;
      /** How long a transaction is waited for, ms. */
      readonly confirmationTimeoutMs: number;
      /** The operator is alarmed when the gas key has less than so many wei. */
      readonly gasAlarmWei: bigint;
    }
  | {
      readonly mode: 'http';
      readonly url: string;
      readonly timeoutMs: number;
      /** The variable that holds a bearer token; null for none. */
      readonly bearerEnv: string | null;
    };

/** Atomic units that are worth at least so much. */
export function atomicOf({ microcredits, atomic }: PaymentNetwork['rate'], amount: Microcredits): bigint {
  return (BigInt(amount) * atomic + microcredits - 1n) / microcredits;
}

/** Converts atomic units to microcredits, rounded down. */
export function worthOf({ microcredits, atomic }: PaymentNetwork['rate'], units: bigint): Microcredits {
  const worth = (units * microcredits) / atomic;
  return worth > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(worth);
}
