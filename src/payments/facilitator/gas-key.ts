import { type Hex, keccak256, type PrivateKeyAccount } from 'viem';
import { FacilitatorUnavailable, type NetworkHost } from './facilitator.ts';
import { isRevert, type NodeRefusal, type Nodes, noAnswerError, orUnavailable, refusalOf } from './nodes.ts';

/** How often a transaction is numbered anew, where its number was taken by another. */
const NUMBERINGS_MAX = 3;
/** How long a node may take to count what it was just sent, and the pause between looks, ms. */
const COUNT_WAIT_MS = 2_000;
const COUNT_PAUSE_MS = 50;
/** How often the operator is told of the same, ms. */
const ALARM_PAUSE_MS = 3_600_000;

export interface GasKeyOptions {
  readonly account: PrivateKeyAccount;
  readonly nodes: Nodes;
  /** Alarmed below so many wei. */
  readonly alarmWei: bigint;
  readonly now: NetworkHost['now'];
  readonly onAlarm: NetworkHost['onAlarm'];
}

export interface Call {
  readonly to: Hex;
  readonly data: Hex;
  /** With the hash, when it is signed and before it is sent; a rejection stops it. */
  onSigned(hash: Hex): Promise<void>;
  /** When it is certain that what was signed was not sent. */
  onRefused(): void;
}

interface Fees {
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/**
 * Transactions of one key on one chain get their numbers one after the other, whoever sends them: a policy that is
 * loaded anew opens the key a second time while the first still settles.
 */
interface Queue {
  tail: Promise<unknown>;
  /** Number of the last that a node took, and when. */
  last: { readonly nonce: number; readonly at: number } | null;
}
const queues = new Map<string, Queue>();

function queueOf(id: string, address: string): Queue {
  const name = `${id} ${address}`;
  const queue = queues.get(name) ?? { tail: Promise.resolve(), last: null };
  queues.set(name, queue);
  return queue;
}

/** The key that pays for transactions. */
export class GasKey {
  readonly address: Hex;
  /** What it had when last looked at, by what it is alarmed below; null before, and where it never is. */
  ratio: number | null = null;
  readonly #options: GasKeyOptions;
  readonly #queue: Queue;
  #alarmedAt = Number.NEGATIVE_INFINITY;

  constructor(options: GasKeyOptions) {
    this.#options = options;
    this.address = options.account.address;
    this.#queue = queueOf(options.nodes.id, this.address);
  }

  /**
   * Sends a transaction, and resolves when a node took it or may have. Rejects with FacilitatorUnavailable where it
   * certainly was not sent, and with the library's error where the contract refuses the call.
   */
  async send(call: Call): Promise<void> {
    const fees = await this.#fees(call);
    await this.#inTurn(() => this.#number(call, fees));
  }

  /** Looks how much it has, and raises the alarm where that is little. Never rejects. */
  async watch(): Promise<void> {
    try {
      this.#watch(await this.#options.nodes.client.getBalance({ address: this.address }));
    } catch {
      // A node that does not answer is told of elsewhere, and the next settlement looks again.
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
    // What the contract says comes after what the operator must see.
    if (price.status === 'rejected' || balance.status === 'rejected') throw noAnswerError(nodes.id);
    this.#watch(balance.value);
    if (gas.status === 'rejected') {
      if (isRevert(gas.reason)) throw gas.reason;
      throw balance.value === 0n ? this.#poor() : noAnswerError(nodes.id);
    }
    // What it takes may grow until it is mined: a balance that others have emptied must be written anew.
    const limit = (gas.value * 6n) / 5n;
    const { maxFeePerGas, maxPriorityFeePerGas } = price.value;
    if (balance.value < limit * maxFeePerGas) throw this.#poor();
    return { gas: limit, maxFeePerGas, maxPriorityFeePerGas };
  }

  #poor(): FacilitatorUnavailable {
    const { nodes } = this.#options;
    this.#alarm(`The gas key ${this.address} of ${nodes.id} cannot pay for transactions: no payment is settled there.`);
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

  /** Numbers, signs and sends; once more where somebody else took the number. */
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
        throw new FacilitatorUnavailable(`The nodes of ${nodes.id} take no transaction of the gas key.`);
      }
    }
  }

  /** As the nodes count it. One that was not told yet of the last transaction is given time. */
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

  /** To each node until one takes it; else why none did, where that is certain. */
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
