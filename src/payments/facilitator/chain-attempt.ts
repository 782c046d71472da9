import type { FacilitatorEvmSigner } from '@x402/evm';
import {
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  TransactionNotFoundError,
  type TransactionReceipt,
} from 'viem';
import { isUnmet } from '../../store/store.ts';
import { FacilitatorUnavailable, type PendingSettlements } from './facilitator.ts';
import { type GasKey, NonceTaken } from './gas-key.ts';
import { isRevert, type Nodes, noAnswerError } from './nodes.ts';

/** The first pause between two checks for a receipt, ms. */
const LOOK_FIRST_MS = 25;
const LOOK_MAX_MS = 400;

interface ChainAttemptOptions {
  readonly nodes: Nodes;
  readonly gasKey: GasKey;
  readonly pending: PendingSettlements;
  /** The key of the attempt's entry in `pending`. */
  readonly key: string;
  readonly confirmationTimeoutMs: number;
  /** Ends the wait for a receipt. */
  readonly signal: AbortSignal;
}

/**
 * An attempt to verify or settle a payment. The attempt gives the x402 library access to the chain and keeps facts that the library loses:
 * the library reports the same code for a bad signature and for a node that is down.
 */
export class ChainAttempt {
  readonly #options: ChainAttemptOptions;
  readonly #codes = new Map<string, Promise<Hex | undefined>>();
  /** Set when no node could be asked. */
  unavailable: FacilitatorUnavailable | null = null;
  /** The hash of the transaction that was sent or may have been sent. */
  transaction: Hex | null = null;
  receipt: TransactionReceipt | null = null;

  constructor(options: ChainAttemptOptions) {
    this.#options = options;
  }

  /** The chain access that the library needs. */
  signer(): FacilitatorEvmSigner {
    const refuse = () => Promise.reject(new Error('Only wallets with a key of their own can pay.'));
    return {
      getAddresses: () => [this.#options.gasKey.address],
      getCode: ({ address }) => this.#code(address),
      readContract: (call) => this.#read(call),
      writeContract: (call) => this.#write(call),
      waitForTransactionReceipt: ({ hash }) => this.#wait(hash),
      verifyTypedData: refuse,
      sendTransaction: refuse,
    };
  }

  /**
   * Replaces the library's own notes. A transaction is stored before it is sent, and until it has ended. The library would store a
   * transaction only after the wait for a receipt had failed.
   */
  notes(): PendingSettlements {
    return {
      get: async () => {
        const noted = await this.#options.pending.get(this.#options.key).catch(() => {
          this.unavailable = new FacilitatorUnavailable('The stored transactions cannot be read.');
          throw this.unavailable;
        });
        // Only this file writes the values of the notes.
        const hash = noted as Hex | undefined;
        if (hash === undefined || !(await this.#isThere(hash))) return undefined;
        this.transaction = hash;
        return hash;
      },
      set: async () => {},
      delete: async () => {},
    };
  }

  /** Whether a node may know a transaction. A lost transaction is sent again without waiting, because it cannot pay twice. */
  async #isThere(hash: Hex): Promise<boolean> {
    try {
      await this.#options.nodes.client.getTransaction({ hash });
      return true;
    } catch (cause) {
      return !(cause instanceof TransactionNotFoundError);
    }
  }

  async forget(): Promise<void> {
    // A note that cannot be deleted is harmless, because the next check asks the chain about the transaction of the note.
    await this.#options.pending.delete(this.#options.key).catch(() => {});
  }

  /** The returned promise never rejects, because the library may not await it. */
  #code(address: Hex): Promise<Hex | undefined> {
    return this.#codes.getOrInsertComputed(address, () =>
      this.#ask(() => this.#options.nodes.client.getCode({ address })).catch(() => undefined),
    );
  }

  async #read({ address, abi, functionName, args }: Parameters<FacilitatorEvmSigner['readContract']>[0]) {
    const data = encodeFunctionData({ abi, functionName, args });
    const { data: result = '0x' } = await this.#ask(() => this.#options.nodes.client.call({ to: address, data }));
    return decodeFunctionResult({ abi, functionName, args, data: result });
  }

  async #write({
    address,
    abi,
    functionName,
    args,
  }: Parameters<FacilitatorEvmSigner['writeContract']>[0]): Promise<Hex> {
    const { gasKey, pending, key } = this.#options;
    if (this.unavailable) throw this.unavailable;
    try {
      await gasKey.send({
        to: address,
        data: encodeFunctionData({ abi, functionName, args }),
        onSigned: async (hash, claim) => {
          await pending.set(key, hash, [claim]).catch((cause) => {
            if (isUnmet(cause)) throw new NonceTaken('another server has claimed the nonce');
            throw new FacilitatorUnavailable('The transaction could not be recorded, so it was not sent.');
          });
          this.transaction = hash;
        },
        onRefused: () => {
          this.transaction = null;
        },
      });
    } catch (cause) {
      if (cause instanceof FacilitatorUnavailable) this.unavailable = cause;
      throw cause;
    }
    if (this.transaction === null) throw new Error('A sent transaction has no hash.');
    return this.transaction;
  }

  /** Polls for the receipt until the timeout, and ignores errors of the nodes. */
  async #wait(hash: Hex): Promise<TransactionReceipt> {
    const { nodes, confirmationTimeoutMs, signal } = this.#options;
    const end = performance.now() + confirmationTimeoutMs;
    for (let pause = LOOK_FIRST_MS; !signal.aborted; pause = Math.min(2 * pause, LOOK_MAX_MS)) {
      this.receipt = await within(end, nodes.client.getTransactionReceipt({ hash }));
      if (this.receipt) return this.receipt;
      const left = end - performance.now();
      if (left <= 0) break;
      await Bun.sleep(Math.min(pause, left));
    }
    throw new Error('The transaction has no receipt yet.');
  }

  /** Calls the nodes. After the first call without an answer, the attempt makes no further calls. */
  async #ask<T>(call: () => Promise<T>): Promise<T> {
    if (this.unavailable) throw this.unavailable;
    try {
      return await call();
    } catch (cause) {
      if (isRevert(cause)) throw cause;
      this.unavailable ??= noAnswerError(this.#options.nodes.id);
      throw this.unavailable;
    }
  }
}

/** Returns the answer if it arrives in time; null for a timeout or a failure. */
async function within<T>(end: number, answer: Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), Math.max(0, end - performance.now()));
  try {
    return await Promise.race([answer.catch(() => null), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
