import { type Authorization, FacilitatorUnavailable } from './facilitator.ts';
import { type Nodes, orUnavailable } from './nodes.ts';
import { hex, TOKEN_ABI } from './token-abi.ts';

/** The settlements of one wallet in one asset. */
interface WalletInFlight {
  /** The sum of the settlements in progress, in atomic units. */
  underWay: bigint;
  /** How many settlements are in progress or waiting. */
  users: number;
  /** Functions to call when a settlement in progress ends. */
  waiting: (() => void)[];
}

/**
 * Sends a settlement only if the wallet can pay for it together with its settlements in progress. A wallet can sign for the same money many
 * times, and each failed transaction costs the operator gas. State: wallets settling.
 */
export class SettlementLimit {
  readonly #nodes: Nodes;
  readonly #waitMs: number;
  readonly #wallets = new Map<string, WalletInFlight>();

  /** @param waitMs how long a settlement may wait for other settlements of its wallet */
  constructor(nodes: Nodes, waitMs: number) {
    this.#nodes = nodes;
    this.#waitMs = waitMs;
  }

  /**
   * Runs a settlement when the payer can pay for it together with the settlements in progress, or when none is in progress. If no
   * settlement is in progress, the chain decides whether the payer can pay.
   * @throws FacilitatorUnavailable, by rejecting, if the wait is too long
   */
  async within<T>(authorization: Authorization, run: () => Promise<T>): Promise<T> {
    const { payer, requirements, amount } = authorization;
    const name = `${requirements.asset} ${payer}`;
    const wallet = this.#wallets.getOrInsert(name, { underWay: 0n, users: 0, waiting: [] });
    wallet.users++;
    try {
      await this.#reserve(wallet, authorization, amount);
      try {
        return await run();
      } finally {
        wallet.underWay -= amount;
        for (const wake of wallet.waiting.splice(0)) wake();
      }
    } finally {
      wallet.users--;
      if (wallet.users === 0) this.#wallets.delete(name);
    }
  }

  async #reserve(wallet: WalletInFlight, authorization: Authorization, amount: bigint): Promise<void> {
    const end = performance.now() + this.#waitMs;
    while (wallet.underWay > 0n && (await this.#balance(authorization)) < wallet.underWay + amount) {
      const left = end - performance.now();
      if (left <= 0) throw new FacilitatorUnavailable('Other payments of the same wallet are still being settled.');
      // The last settlement of the wallet may have ended while the node was asked for the balance.
      if (wallet.underWay > 0n) await waitForEnd(wallet, left);
    }
    // There is no `await` between the check and this line, so no other settlement can see the old value.
    wallet.underWay += amount;
  }

  /** An unknown balance counts as 0, so that settlements wait for each other. */
  #balance({ payer, requirements }: Authorization): Promise<bigint> {
    const { client } = this.#nodes;
    const call = {
      address: hex(requirements.asset),
      abi: TOKEN_ABI,
      functionName: 'balanceOf',
      args: [hex(payer)],
    } as const;
    return orUnavailable(this.#nodes, client.readContract(call)).catch(() => 0n);
  }
}

/** Resolves when a settlement in progress has ended, or after `ms`. */
function waitForEnd(wallet: WalletInFlight, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wallet.waiting.push(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
