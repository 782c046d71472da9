import { type Authorization, FacilitatorUnavailable } from './facilitator.ts';
import { asked, type Nodes } from './nodes.ts';
import { hex, TOKEN } from './tokens.ts';

/** What of one wallet's is being settled in one asset. */
interface Purse {
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
export class Purses {
  readonly #nodes: Nodes;
  readonly #waitMs: number;
  readonly #purses = new Map<string, Purse>();

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
    const purse = this.#purses.get(name) ?? { underWay: 0n, users: 0, waiting: [] };
    this.#purses.set(name, purse);
    purse.users++;
    try {
      await this.#take(purse, authorization, amount);
      try {
        return await run();
      } finally {
        purse.underWay -= amount;
        for (const wake of purse.waiting.splice(0)) wake();
      }
    } finally {
      purse.users--;
      if (purse.users === 0) this.#purses.delete(name);
    }
  }

  async #take(purse: Purse, authorization: Authorization, amount: bigint): Promise<void> {
    const end = performance.now() + this.#waitMs;
    while (purse.underWay > 0n && (await this.#balance(authorization)) < purse.underWay + amount) {
      const left = end - performance.now();
      if (left <= 0) throw new FacilitatorUnavailable('Other payments of the same wallet are still being settled.');
      // The last may have ended while the node was asked.
      if (purse.underWay > 0n) await ended(purse, left);
    }
    // At once, before another has looked.
    purse.underWay += amount;
  }

  /** Where no node tells, it is as if there were nothing: what is under way is waited for. */
  #balance({ payer, requirements }: Authorization): Promise<bigint> {
    const { client } = this.#nodes;
    const call = {
      address: hex(requirements.asset),
      abi: TOKEN,
      functionName: 'balanceOf',
      args: [hex(payer)],
    } as const;
    return asked(this.#nodes, client.readContract(call)).catch(() => 0n);
  }
}

/** Resolves when one that is under way has ended, or the time is over. */
function ended(purse: Purse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    purse.waiting.push(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
