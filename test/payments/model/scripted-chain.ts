import {
  type Authorization,
  type AuthorizationOutcome,
  type AuthorizationQuery,
  FacilitatorUnavailable,
  type NetworkClients,
  type SettleResult,
  type Verification,
} from '../../../src/payments/facilitator/facilitator.ts';

/** The fault of the next settlement. */
export type Weather =
  | 'good'
  /** The node gives no answer. */
  | 'down'
  /** The transaction is sent, but is not mined yet. */
  | 'unmined'
  /** The transaction is sent and mined, but the answer is lost. */
  | 'answer-lost'
  /** The transaction is sent and then lost, without a notice. */
  | 'dropped';

interface Transfer {
  readonly key: string;
  readonly payer: string;
  readonly amount: bigint;
  readonly validBefore: number;
  readonly hash: string;
}

/** The state of an authorization that is not merely unused. */
type AuthorizationMark = { readonly state: 'used'; readonly hash: string } | { readonly state: 'cancelled' };

/** A scripted chain with one token and one payee, and its facilitator. */
export class ScriptedChain {
  weather: Weather = 'good';
  /** Atomic units that arrived at the payee. */
  received = 0n;
  /** The number of transfers by authorization. More than one transfer for an authorization means that the fake chain has a bug. */
  readonly debits = new Map<string, number>();
  settles = 0;
  readonly #now: () => number;
  readonly #balances = new Map<string, bigint>();
  readonly #marks = new Map<string, AuthorizationMark>();
  #pool: Transfer[] = [];
  #hashes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  fund(payer: string, amount: bigint): void {
    this.#balances.set(payer, (this.#balances.get(payer) ?? 0n) + amount);
  }

  drain(payer: string): void {
    this.#balances.set(payer, 0n);
  }

  isUsed(payer: string, nonce: string): boolean {
    return this.#marks.get(keyOf(payer, nonce))?.state === 'used';
  }

  /** The payer cancels an authorization: the token then reports it as used. */
  cancel(payer: string, nonce: string): void {
    const key = keyOf(payer, nonce);
    if (!this.#marks.has(key)) this.#marks.set(key, { state: 'cancelled' });
  }

  /** Mines pending transactions. Impossible transactions revert. */
  mine(): void {
    for (const transfer of this.#pool.splice(0)) this.#carryOut(transfer);
  }

  /**
   * Opens the chain for a new process. The chain itself survives the process.
   * @param pass called before and after each visible step
   */
  network(pass: (step: string) => Promise<void>): NetworkClients {
    return {
      facilitator: {
        verify: async (authorization) => {
          await pass('verify');
          return this.#verify(authorization);
        },
        settle: async (authorization) => {
          await pass('settle');
          const settlement = this.#settle(authorization);
          await pass('sent');
          return settlement;
        },
        close: () => {},
      },
      chain: {
        check: () => pass('check'),
        outcome: async (trace) => {
          await pass('outcome');
          return this.#outcome(trace);
        },
      },
    };
  }

  #verify({ payer, nonce, requirements }: Authorization): Verification {
    this.#answerOrThrow();
    if (this.#marks.has(keyOf(payer, nonce))) return { valid: false, reason: 'invalid_exact_evm_nonce_already_used' };
    const isCovered = (this.#balances.get(payer) ?? 0n) >= BigInt(requirements.amount);
    return isCovered ? { valid: true } : { valid: false, reason: 'invalid_exact_evm_insufficient_balance' };
  }

  #settle({ payer, nonce, requirements, payload }: Authorization): SettleResult {
    this.#answerOrThrow();
    this.settles++;
    const { authorization } = payload.payload as { authorization: { validBefore: string } };
    const transfer = {
      key: keyOf(payer, nonce),
      payer,
      amount: BigInt(requirements.amount),
      validBefore: Number(authorization.validBefore),
      hash: `0x${String(++this.#hashes).padStart(64, '0')}`,
    };
    if (this.#marks.has(transfer.key)) return { state: 'unknown', reason: 'nonce_already_used', transaction: null };
    if (this.weather === 'dropped') return { state: 'unknown', reason: 'connection_lost', transaction: null };
    if (this.weather === 'unmined') {
      this.#pool.push(transfer);
      return { state: 'unknown', reason: 'settlement_pending', transaction: transfer.hash };
    }
    const isDone = this.#carryOut(transfer);
    if (this.weather === 'answer-lost') return { state: 'unknown', reason: 'facilitator_timeout', transaction: null };
    return isDone ? { state: 'captured', transaction: transfer.hash } : { state: 'failed', reason: 'reverted' };
  }

  #carryOut({ key, payer, amount, validBefore, hash }: Transfer): boolean {
    const balance = this.#balances.get(payer) ?? 0n;
    if (this.#marks.has(key) || balance < amount || this.#now() >= validBefore * 1_000) return false;
    this.#balances.set(payer, balance - amount);
    this.received += amount;
    this.debits.set(key, (this.debits.get(key) ?? 0) + 1);
    this.#marks.set(key, { state: 'used', hash });
    return true;
  }

  #outcome({ payer, nonce, validBefore }: AuthorizationQuery): AuthorizationOutcome {
    this.#answerOrThrow();
    const mark = this.#marks.get(keyOf(payer, nonce));
    if (mark?.state === 'used') return { state: 'used', transaction: mark.hash };
    return mark ?? { state: 'unused', expired: this.#now() >= validBefore * 1_000 };
  }

  #answerOrThrow(): void {
    if (this.weather === 'down') throw new FacilitatorUnavailable('nobody answers');
  }
}

const keyOf = (payer: string, nonce: string): string => `${payer} ${nonce}`;
