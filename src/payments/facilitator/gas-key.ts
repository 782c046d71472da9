import { type Hex, keccak256, type PrivateKeyAccount } from 'viem';
import { FacilitatorUnavailable, type NetworkHost } from './facilitator.ts';
import { isRevert, type NodeRefusal, type Nodes, noAnswerError, orUnavailable, refusalOf } from './nodes.ts';

/** Attempts with a new nonce, where another sender took it. */
const NUMBERINGS_MAX = 3;
/** How long a node may take to count a transaction it just received, and the pause between checks, ms. */
const COUNT_WAIT_MS = 2_000;
const COUNT_PAUSE_MS = 50;
/** The pause between equal alarms, ms. */
const ALARM_PAUSE_MS = 3_600_000;

export interface GasKeyOptions {
  readonly account: PrivateKeyAccount;
  readonly nodes: Nodes;
  /** The alarm threshold, wei. */
  readonly alarmWei: bigint;
  readonly now: NetworkHost['now'];
  readonly onAlarm: NetworkHost['onAlarm'];
}

export interface Call {
  readonly to: Hex;
  readonly data: Hex;
  /** Called after signing and before sending, with the hash. A rejection prevents sending. */
  onSigned(hash: Hex): Promise<void>;
  /** Called when the signed transaction was certainly not sent. */
  onRefused(): void;
}

interface Fees {
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** Orders the nonces of a key on a chain for all its senders: during a reload the key is open twice. */
interface Queue {
  tail: Promise<unknown>;
  /** The last nonce that a node accepted, and when. */
  last: { readonly nonce: number; readonly at: number } | null;
}
const queues = new Map<string, Queue>();

export class GasKey {
  readonly address: Hex;
  /** The last seen balance as a multiple of the alarm threshold. Null before, and without a threshold. */
  ratio: number | null = null;
  readonly #options: GasKeyOptions;
  readonly #queue: Queue;
  #alarmedAt = Number.NEGATIVE_INFINITY;

  constructor(options: GasKeyOptions) {
    this.#options = options;
    this.address = options.account.address;
    this.#queue = queues.getOrInsert(`${options.nodes.id} ${this.address}`, { tail: Promise.resolve(), last: null });
  }

  /**
   * Sends a transaction. Resolves when a node accepted it or may have. Throws FacilitatorUnavailable where it certainly
   * was not sent, and the library's error where the contract refuses the call.
   */
  async send(call: Call): Promise<void> {
    const fees = await this.#fees(call);
    await this.#inTurn(() => this.#number(call, fees));
  }

  /** Checks the balance, and alarms if it is low. Never rejects. */
  async watch(): Promise<void> {
    try {
      this.#watch(await this.#options.nodes.client.getBalance({ address: this.address }));
    } catch {
      // A node that does not answer is reported elsewhere, and the next settlement checks again.
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
    // Errors that the operator must see come before the contract's.
    if (price.status === 'rejected' || balance.status === 'rejected') throw noAnswerError(nodes.id);
    this.#watch(balance.value);
    if (gas.status === 'rejected') {
      if (isRevert(gas.reason)) throw gas.reason;
      throw balance.value === 0n ? this.#poor() : noAnswerError(nodes.id);
    }
    // The need may grow before it is mined: an emptied balance slot must be written anew.
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

  /** Sets the nonce, signs and sends; repeats if another sender took the nonce. */
  async #number(call: Call, fees: Fees): Promise<void> {
    const { nodes, account } = this.#options;
    for (let times = 1; ; times++) {
      const nonce = await this.#nextNonce();
      const { to, data } = call;
      const signed = { type: 'eip1559', chainId: nodes.client.chain.id, nonce, to, data, ...fees } as const;
      const serialized = await account.signTransaction(signed);
      const hash = keccak256(serialized);
      await call.onSigned(hash);
      const sent = await this.#send(serialized);
      if (sent === 'taken') this.#queue.last = { nonce, at: performance.now() };
      if (sent === 'taken' || sent === 'perhaps') return;
      call.onRefused();
      if (sent === 'other' || times === NUMBERINGS_MAX) {
        throw new FacilitatorUnavailable(`The nodes of ${nodes.id} accept no transaction from the gas key.`);
      }
    }
  }

  /** Asks the nodes, and waits for one that does not count the last transaction yet. */
  async #nextNonce(): Promise<number> {
    const { nodes } = this.#options;
    const { last } = this.#queue;
    for (;;) {
      const nonce = await orUnavailable(
        nodes,
        nodes.client.getTransactionCount({ address: this.address, blockTag: 'pending' }),
      );
      if (last === null || nonce > last.nonce || performance.now() - last.at > COUNT_WAIT_MS) return nonce;
      await Bun.sleep(COUNT_PAUSE_MS);
    }
  }

  /** Tries each node until one accepts. Returns a refusal only if none can have the transaction. */
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
