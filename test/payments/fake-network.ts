import {
  type Authorization,
  type AuthorizationOutcome,
  type AuthorizationQuery,
  FacilitatorUnavailable,
  type NetworkClients,
  type SettleResult,
  type Verification,
} from '../../src/payments/facilitator/facilitator.ts';

/** How the next settlements behave. */
type SettleBehavior =
  | 'prompt'
  /** The transaction is sent and mined, but never confirmed. */
  | 'lost'
  /** The transaction is sent, and mined only when the test calls `mine()`. */
  | 'pending'
  /** The transaction is never sent, and no answer arrives. */
  | 'stuck'
  | 'refused'
  /** Nothing is sent, because no node answers. */
  | 'unavailable'
  /** The settlement throws an unexpected error. */
  | 'broken';

/** A fake facilitator with its chain. An authorization can be used once, by any sender, while it is valid and the payer has the money. */
export class FakeNetwork implements NetworkClients {
  readonly calls: string[] = [];
  behavior: SettleBehavior = 'prompt';
  /** The reason with which the next verifications fail; null if they succeed. */
  invalid: string | null = null;
  /** Whether the network answers calls. */
  isUp = true;
  /** The error of the check whether the chain matches the policy. */
  mismatch: string | null = null;
  /** Settlements wait for this promise. */
  gate: Promise<unknown> = Promise.resolve();
  /** Calls to the chain wait for this promise. */
  chainGate: Promise<unknown> = Promise.resolve();
  closed = 0;
  watched = 0;
  /** The transaction of each used nonce; null if the nonce was cancelled. */
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
