import {
  type Authorization,
  type AuthorizationOutcome,
  type AuthorizationQuery,
  FacilitatorUnavailable,
  type NetworkClients,
  type SettleResult,
  type Verification,
} from '../../src/payments/facilitator/facilitator.ts';

/** The behavior of the next settlements. */
type SettleBehavior =
  | 'prompt'
  /** Sent and mined, but never confirmed. */
  | 'lost'
  /** Sent, and mined only by `mine()`. */
  | 'pending'
  /** Never sent, without an answer. */
  | 'stuck'
  | 'refused'
  /** Nothing is sent: no node answers. */
  | 'unavailable'
  /** Throws an unexpected error. */
  | 'broken';

/**
 * A facilitator and its chain, reduced to authorizations: each can be used once, by any sender, while it is valid and
 * the payer has the money.
 */
export class FakeNetwork implements NetworkClients {
  readonly calls: string[] = [];
  behavior: SettleBehavior = 'prompt';
  /** The reason of the next verifications; null for valid. */
  invalid: string | null = null;
  /** Whether calls are answered. */
  isUp = true;
  /** The error of the check of the chain. */
  mismatch: string | null = null;
  /** Settlements wait for it. */
  gate: Promise<unknown> = Promise.resolve();
  /** Calls to the chain wait for it. */
  chainGate: Promise<unknown> = Promise.resolve();
  closed = 0;
  watched = 0;
  /** Nonce → transaction; null where it was cancelled. */
  readonly used = new Map<string, string | null>();
  received = 0n;
  readonly #clock: { readonly now: number };
  #pending: Authorization[] = [];

  constructor(clock: { readonly now: number }) {
    this.#clock = clock;
  }

  readonly facilitator = {
    verify: async (authorization: Authorization): Promise<Verification> => {
      this.#ask('verify');
      if (this.invalid !== null) return { valid: false, reason: this.invalid };
      if (this.used.has(authorization.nonce)) return { valid: false, reason: 'nonce_already_used' };
      return { valid: true };
    },
    settle: async (authorization: Authorization): Promise<SettleResult> => {
      this.#ask('settle');
      const { behavior: way } = this;
      await this.gate;
      return this.#settle(authorization, way);
    },
    watch: async () => void this.watched++,
    close: () => void this.closed++,
  };

  readonly chain = {
    check: async (): Promise<void> => {
      this.#ask('check');
      if (this.mismatch !== null) throw new Error(this.mismatch);
    },
    outcome: async ({ nonce, validBefore }: AuthorizationQuery): Promise<AuthorizationOutcome> => {
      this.#ask('outcome');
      await this.chainGate;
      const transaction = this.used.get(nonce);
      if (transaction === null) return { state: 'cancelled' };
      if (transaction !== undefined) return { state: 'used', transaction };
      return { state: 'unused', expired: this.#clock.now >= validBefore * 1_000 };
    },
  };

  count(call: string): number {
    return this.calls.filter((one) => one === call).length;
  }

  mine(): void {
    for (const authorization of this.#pending.splice(0)) this.#transfer(authorization);
  }

  cancel(nonce: string): void {
    this.used.set(nonce, null);
  }

  #ask(call: string): void {
    this.calls.push(call);
    if (!this.isUp) throw new FacilitatorUnavailable('nobody answers at a secret place');
  }

  #settle(authorization: Authorization, way: SettleBehavior): SettleResult {
    const unknown = (transaction: string | null): SettleResult => ({
      state: 'unknown',
      reason: 'timeout',
      transaction,
    });
    switch (way) {
      case 'prompt': {
        const transaction = this.#transfer(authorization);
        return transaction ? { state: 'captured', transaction } : { state: 'failed', reason: 'transaction_failed' };
      }
      case 'lost':
        this.#transfer(authorization);
        return unknown(null);
      case 'pending':
        this.#pending.push(authorization);
        return unknown(`0xpending${authorization.nonce.slice(-4)}`);
      case 'stuck':
        return unknown(null);
      case 'refused':
        return { state: 'failed', reason: 'insufficient_funds' };
      case 'unavailable':
        throw new FacilitatorUnavailable('nobody answers at a secret place');
      case 'broken':
        throw new TypeError('undefined is not a function');
    }
  }

  #transfer({ nonce, requirements }: Authorization): string | null {
    if (this.used.has(nonce)) return null;
    const transaction = `0xtx${nonce.slice(-8)}`;
    this.used.set(nonce, transaction);
    this.received += BigInt(requirements.amount);
    return transaction;
  }
}
