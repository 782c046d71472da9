import { type Hex, keccak256, type PrivateKeyAccount } from 'viem';
import { HOUR_MS } from '../../core/time/clock.ts';
import type { TakenNonce } from '../../store/payments.ts';
import type { Write } from '../../store/store.ts';
import { FacilitatorUnavailable, type GasNonces, type GasQueue, type NetworkHost } from './facilitator.ts';
import { isRevert, type NodeRefusal, type Nodes, noAnswerError, orUnavailable, refusalOf } from './nodes.ts';

/** How often to try with a new nonce after another sender took the nonce. */
const NUMBERINGS_MAX = 3;
/** How long a node may take to count a transaction that it has received, and the pause between checks, ms. */
const COUNT_WAIT_MS = 2_000;
const COUNT_PAUSE_MS = 50;
/** The pause before the same alarm is repeated, ms. */
const ALARM_PAUSE_MS = HOUR_MS;

interface GasKeyOptions {
  readonly account: PrivateKeyAccount;
  readonly nodes: Nodes;
  readonly nonces: GasNonces;
  /** The alarm threshold, wei. */
  readonly alarmWei: bigint;
  readonly now: NetworkHost['now'];
  readonly onAlarm: NetworkHost['onAlarm'];
}

export interface Call {
  readonly to: Hex;
  readonly data: Hex;
  /**
   * Called after signing and before sending, with the hash and the nonce's claim, which must be committed together. If the promise rejects,
   * the transaction is not sent; after `NonceTaken`, the transaction is signed again with another nonce.
   */
  onSigned(hash: Hex, claim: Write): Promise<void>;
  /** Called when the signed transaction was certainly not sent. */
  onRefused(): void;
}

interface Fees {
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** Another server has claimed the nonce first, and nothing was sent. */
export class NonceTaken extends Error {
  override readonly name = 'NonceTaken';
}

/** The next nonce of a key, and the last claimed nonce. */
interface FreeNonce {
  readonly nonce: number;
  readonly seen: TakenNonce | null;
}

/** Sends the transactions of one key on one chain. State: gas keys. */
export class GasKey {
  readonly address: Hex;
  /** The last known balance as a multiple of the alarm threshold. The balance is null before the first check, and without a threshold. */
  ratio: number | null = null;
  readonly #options: GasKeyOptions;
  readonly #name: string;
  readonly #queue: GasQueue;
  #alarmedAt = Number.NEGATIVE_INFINITY;

  constructor(options: GasKeyOptions) {
    this.#options = options;
    this.address = options.account.address;
    this.#name = `${options.nodes.id} ${this.address}`;
    this.#queue = options.nonces.queueOf(this.#name);
  }

  /**
   * Sends a transaction. The promise resolves when a node has accepted the transaction or may have accepted it.
   * @throws FacilitatorUnavailable if the transaction was certainly not sent, and the library's error if the contract refuses the call
   */
  async send(call: Call): Promise<void> {
    const fees = await this.#fees(call);
    await this.#inTurn(() => this.#number(call, fees));
  }

  /** Checks the balance, and raises an alarm if it is low. Never rejects. */
  async watch(): Promise<void> {
    try {
      this.#watch(await this.#options.nodes.client.getBalance({ address: this.address }));
    } catch {
      // Other code reports nodes that do not answer, and the next settlement checks again.
    }
  }

  async #fees({ to, data }: Call): Promise<Fees> {
    const { nodes } = this.#options;
    const { client } = nodes;
    const [gas, price, balance] = await Promise.allSettled([
      client.estimateGas({ account: this.address, to, data }),
      client.estimateFeesPerGas(),
      client.getBalance({ address: this.address }),
    ]);
    // Errors for the operator come before errors of the contract.
    if (price.status === 'rejected' || balance.status === 'rejected') throw noAnswerError(nodes.id);
    this.#watch(balance.value);
    if (gas.status === 'rejected') {
      if (isRevert(gas.reason)) throw gas.reason;
      throw balance.value === 0n ? this.#poor() : noAnswerError(nodes.id);
    }
    // The transaction may need more gas when it is mined: writing to an empty balance slot is more expensive.
    const limit = (gas.value * 6n) / 5n;
    const { maxFeePerGas, maxPriorityFeePerGas } = price.value;
    if (balance.value < limit * maxFeePerGas) throw this.#poor();
    return { gas: limit, maxFeePerGas, maxPriorityFeePerGas };
  }

  #poor(): FacilitatorUnavailable {
    const { nodes } = this.#options;
    this.#alarm(
      `The gas key ${this.address} of ${nodes.id} cannot pay for transactions, so no payment is settled on this network.`,
    );
    return new FacilitatorUnavailable(`The gas key of ${nodes.id} cannot pay for transactions.`);
  }

  #watch(balance: bigint): void {
    const { nodes, alarmWei } = this.#options;
    if (alarmWei > 0n) this.ratio = Number(balance) / Number(alarmWei);
    if (balance >= alarmWei) return;
    this.#alarm(`The gas key ${this.address} of ${nodes.id} has only ${balance} wei left.`);
  }

  #alarm(message: string): void {
    const now = this.#options.now();
    if (now - this.#alarmedAt < ALARM_PAUSE_MS) return;
    this.#alarmedAt = now;
    this.#options.onAlarm(message);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.tail.then(work);
    this.#queue.tail = turn.catch(() => {});
    return turn;
  }

  /** Chooses a nonce, signs and sends. If another sender took the nonce, `#number` repeats with a new nonce. */
  async #number(call: Call, fees: Fees): Promise<void> {
    const { nodes, nonces } = this.#options;
    for (let times = 1; ; times++) {
      const { nonce, seen } = await this.#nextNonce();
      const claim = nonces.claim(this.#name, nonce, seen);
      const serialized = await this.#signed(call, fees, nonce);
      const sent = (await claimed(() => call.onSigned(keccak256(serialized), claim.write)))
        ? await this.#send(serialized)
        : 'nonce';
      if (sent === 'taken') this.#queue.last = { nonce, at: performance.now() };
      if (sent === 'taken' || sent === 'perhaps') return;
      call.onRefused();
      if (sent === 'other' || times === NUMBERINGS_MAX) {
        claim.release();
        throw new FacilitatorUnavailable(`The nodes of ${nodes.id} accept no transaction from the gas key.`);
      }
    }
  }

  #signed({ to, data }: Call, fees: Fees, nonce: number): Promise<Hex> {
    const { nodes, account } = this.#options;
    return account.signTransaction({ type: 'eip1559', chainId: nodes.client.chain.id, nonce, to, data, ...fees });
  }

  /**
   * Asks the nodes for the next nonce. `#nextNonce` waits for nodes that do not yet count the last transaction that this server or another
   * server sent.
   */
  async #nextNonce(): Promise<FreeNonce> {
    const { nodes, nonces } = this.#options;
    const { last } = this.#queue;
    for (;;) {
      const nonce = await orUnavailable(
        nodes,
        nodes.client.getTransactionCount({ address: this.address, blockTag: 'pending' }),
      );
      const seen = await nonces.last(this.#name).catch(() => {
        throw new FacilitatorUnavailable('The stored nonces cannot be read.');
      });
      const isCounted = last === null || nonce > last.nonce || performance.now() - last.at > COUNT_WAIT_MS;
      const isFree = seen === null || seen.nonce < nonce || !nonces.isHeld(seen);
      if (isCounted && isFree) return { nonce, seen };
      await Bun.sleep(COUNT_PAUSE_MS);
    }
  }

  /** Tries each node until one accepts the transaction. `#send` returns a refusal only if no node can have the transaction. */
  async #send(serialized: Hex): Promise<'taken' | 'perhaps' | NodeRefusal> {
    const refusals = new Set<NodeRefusal | null>();
    for (const request of this.#options.nodes.each) {
      try {
        await request({ method: 'eth_sendRawTransaction', params: [serialized] });
        return 'taken';
      } catch (cause) {
        refusals.add(refusalOf(cause));
      }
    }
    if (refusals.has(null)) return 'perhaps';
    return refusals.has('nonce') ? 'nonce' : 'other';
  }
}

/** Resolves with false if another server has claimed the nonce. */
async function claimed(onSigned: () => Promise<void>): Promise<boolean> {
  try {
    await onSigned();
    return true;
  } catch (cause) {
    if (cause instanceof NonceTaken) return false;
    throw cause;
  }
}
