import type { Microcredits } from '../money/credits.ts';

/** The policy section `payments.x402`, if it is enabled: agents pay for their own requests. */
export interface PaymentPolicy {
  /** The networks on which the gateway accepts payments, in the order in which it offers them. */
  readonly networks: readonly [PaymentNetwork, ...PaymentNetwork[]];
  /** The URL at which agents reach this gateway, without a slash at its end; null for the address that the request was sent to. */
  readonly publicUrl: string | null;
  /** How long a quote can be paid, ms. */
  readonly quoteTtlMs: number;
  /**
   * The highest quote for a request without a key, microcredits. The worst case of a request without a key is capped as by a
   * `budget_limit`.
   */
  readonly quoteMax: Microcredits;
  /** The least amount that is settled on a chain, microcredits. The part of a payment above the price is added to the wallet's balance. */
  readonly chargeMin: Microcredits;
  /** The fee that a settlement adds to a request's price, microcredits. */
  readonly settleFee: Microcredits;
  /** How long an authorization must still be valid when its settlement begins, ms. */
  readonly settleMarginMs: number;
  /** Whether a request without a key must name its `agent_wallet`. */
  readonly walletRequired: boolean;
  /**
   * Whether the balance of a named wallet lowers its quote before the wallet has proved itself. With `quotesBalance`, anyone can learn the
   * balance of a wallet from the quote.
   */
  readonly quotesBalance: boolean;
  /** The least and the most of one top-up, microcredits; null if the gateway accepts no top-ups. */
  readonly prepaid: { readonly min: Microcredits; readonly max: Microcredits } | null;
  /** The largest body of a request without a key, bytes. */
  readonly bodyBytesMax: number;
}

/** A stablecoin on one chain, and how its payments are settled. Amounts of the stablecoin are in atomic units. */
export interface PaymentNetwork {
  /** CAIP-2 ID of the chain, such as `eip155:84532`. */
  readonly id: string;
  readonly chainId: number;
  readonly asset: PaymentAsset;
  /** The operator's address, as the policy writes it. */
  readonly payTo: string;
  /** URLs of nodes. Signalbox asks the first node first. `rpcUrls` is empty if `rpcUrlsEnv` names a variable with URLs. */
  readonly rpcUrls: readonly string[];
  /** The environment variable that holds URLs of nodes, separated by commas; null for none. */
  readonly rpcUrlsEnv: string | null;
  readonly facilitator: FacilitatorPolicy;
  /** The exact price of the asset: `microcredits` for `atomic` units, as a reduced fraction. */
  readonly rate: { readonly microcredits: bigint; readonly atomic: bigint };
}

export interface PaymentAsset {
  /** Address of the token's contract, as the policy writes it. */
  readonly address: string;
  /** Name and version of the token's EIP-712 domain. */
  readonly name: string;
  readonly version: string;
  readonly decimals: number;
}

/** The facilitator settles payments: either this process, whose own key pays the gas, or an external service. */
export type FacilitatorPolicy =
  | {
      readonly mode: 'local';
      readonly privateKeyEnv: string;
      /** How long the facilitator waits for a transaction, ms. */
      readonly confirmationTimeoutMs: number;
      /** Signalbox alerts the operator if the gas key has less than this many wei. */
      readonly gasAlarmWei: bigint;
    }
  | {
      readonly mode: 'http';
      readonly url: string;
      readonly timeoutMs: number;
      /** The environment variable that holds a bearer token; null for none. */
      readonly bearerEnv: string | null;
    };

/** Returns the fewest atomic units that are worth at least the amount. */
export function atomicOf({ microcredits, atomic }: PaymentNetwork['rate'], amount: Microcredits): bigint {
  return (BigInt(amount) * atomic + microcredits - 1n) / microcredits;
}

/** Converts atomic units to microcredits, rounded down. */
export function worthOf({ microcredits, atomic }: PaymentNetwork['rate'], units: bigint): Microcredits {
  const worth = (units * microcredits) / atomic;
  return worth > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(worth);
}
