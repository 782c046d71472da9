import { type Authorization, FacilitatorUnavailable } from './facilitator.ts';
import { type Nodes, orUnavailable } from './nodes.ts';
import { hex, TOKEN_ABI } from './token-abi.ts';

/** What of one wallet's is being settled in one asset. */
interface WalletInFlight {
  /** Atomic units. */
  underWay: bigint;
  /** Settlements that are under way or wait. */
  users: number;
  /** Wakes those that wait for one that is under way to end. */
  waiting: (() => void)[];
}

/**
 * A wallet can sign for its money any number of times, and each time the chain would let it pay until the first has. So
 * nothing is sent for it that it could not pay beside what is under way: each such transaction would fail at our
 * expense.
 */
export class BalanceGuard {
  readonly #nodes: Nodes;
  readonly #waitMs: number;
  readonly #wallets = new Map<string, WalletInFlight>();

  /** `waitMs`: how long a settlement may wait for others of its wallet. */
  constructor(nodes: Nodes, waitMs: number) {
    this.#nodes = nodes;
    this.#waitMs = waitMs;
  }

  /**
   * Runs once the payer can pay for it beside what is under way, or nothing is: then the chain tells. Rejects with
   * FacilitatorUnavailable when that takes too long.
   */
  async within<T>(authorization: Authorization, run: () => Promise<T>): Promise<T> {
    const { payer, requirements } = authorization;
    const amount = BigInt(requirements.amount);
    const name = `${requirements.asset} ${payer}`;
    const wallet = this.#wallets.get(name) ?? { underWay: 0n, users: 0, waiting: [] };
    this.#wallets.set(name, wallet);
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
      // The last may have ended while the node was asked.
      if (wallet.underWay > 0n) await waitForEnd(wallet, left);
    }
    // At once, before another has looked.
    wallet.underWay += amount;
  }

  /** Where no node tells, it is as if there were nothing: what is under way is waited for. */
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

/** Resolves when one that is under way has ended, or the time is over. */
function waitForEnd(wallet: WalletInFlight, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wallet.waiting.push(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
