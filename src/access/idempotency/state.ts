import type { Microcredits } from '../../core/credits.ts';
import { isWallet } from '../../core/wallet.ts';
import type { Store } from '../../store/store.ts';
import { decodeAnswer, type StoredAnswer } from './answer.ts';
import { AnswerSeal, isSame, requestNameOf } from './crypto.ts';
import { type IdempotentRun, StoredRun } from './run.ts';
import { COUNT_OLD, deleteOld, type IdempotencyRow, SELECT_ROW } from './table.ts';

/** How long an answer is kept, and a loss remembered, ms. */
const KEPT_MS = 86_400_000;
/**
 * After so many losses that no crash explains, mostly answers too large to be kept, the charge of the last stands:
 * otherwise one key could have any number of such answers for the price of one.
 */
export const LOSSES_MAX = 3;
/** Rows deleted in one transaction: each may have a mebibyte. */
const PRUNE_BATCH = 100;
/** For whoever reads the journal. */
const NOTE = 'its answer was lost, and the request repeated';

export interface IdempotencyOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Gives back what is left of a decision's charge, at most what `instead` was charged: durable when it resolves, and
   * nothing the second time.
   */
  giveBack(decision: number, note: string, instead?: number): Promise<Microcredits>;
}

/** A request that carries an `Idempotency-Key`. */
export interface IdempotentRequest {
  readonly keyId: string;
  /** Of the API key, as it was sent. */
  readonly secret: string;
  readonly idempotencyKey: string;
  /** SHA-256 of the body. */
  readonly body: Uint8Array;
}

/** Why a request is neither carried out nor answered. `unavailable`: it was charged, and its answer cannot be had. */
export type ClaimRefusal =
  | { readonly kind: 'in-flight' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'unavailable'; readonly decision: number };

export type Claim =
  | { readonly kind: 'run'; readonly run: IdempotentRun }
  | { readonly kind: 'replay'; readonly answer: StoredAnswer; readonly decision: number }
  | ClaimRefusal;

export interface Idempotency {
  /** Rejects with StoreError when it cannot be read, or a charge not be given back. */
  claim(request: IdempotentRequest): Promise<Claim>;
  /** Deletes what is older than a day, a batch at a time. Returns how many rows. */
  prune(): Promise<number>;
  /** Resolves once no turn is open. */
  idle(): Promise<void>;
}

/**
 * Memory knows what runs; the table knows the rest, and is asked anew each time. A row that says `running` and is
 * not in memory is of a process that is gone, so a start has nothing to do.
 */
export function openIdempotency(options: IdempotencyOptions): Idempotency {
  return new StoredIdempotency(options);
}

const IN_FLIGHT: Claim = { kind: 'in-flight' };
const REUSED: Claim = { kind: 'reused' };

class StoredIdempotency implements Idempotency {
  readonly #options: IdempotencyOptions;
  /** Name → body of what runs. */
  readonly #running = new Map<string, Uint8Array>();
  /** Turns that have ended: whoever read a row meanwhile reads it again. */
  #ends = 0;
  #waiters: (() => void)[] = [];

  constructor(options: IdempotencyOptions) {
    this.#options = options;
  }

  async claim(request: IdempotentRequest): Promise<Claim> {
    const bytes = requestNameOf(request.keyId, request.idempotencyKey);
    const name = Buffer.from(bytes).toString('base64');
    for (;;) {
      const running = this.#running.get(name);
      // That another body does not fit is known already: waiting would not help.
      if (running) return isSame(running, request.body) ? IN_FLIGHT : REUSED;
      const ends = this.#ends;
      const row = await this.#find(bytes);
      if (this.#ends !== ends || this.#running.has(name)) continue;
      const claim = row && claimOf(row, new AnswerSeal(request.secret, row.salt), request.body);
      if (claim) return claim;
      this.#running.set(name, request.body);
      return this.#run(bytes, request, row, () => this.#release(name));
    }
  }

  async prune(): Promise<number> {
    const { store, now } = this.#options;
    const until = now() - KEPT_MS;
    for (let deleted = 0; ; ) {
      const [found] = await store.query<{ n: number }>(COUNT_OLD, [until, PRUNE_BATCH]);
      if (!found || found.n === 0) return deleted;
      await store.commit([deleteOld(until, PRUNE_BATCH)]);
      deleted += found.n;
    }
  }

  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Null, too, for what is too old. */
  async #find(name: Uint8Array): Promise<IdempotencyRow | null> {
    const [row] = await this.#options.store.query<IdempotencyRow>(SELECT_ROW, [name]);
    return row && row.time > this.#options.now() - KEPT_MS ? row : null;
  }

  /**
   * Opens a turn. What a crash has cost is given back at once, so that it is not in the way of the new reservation.
   * After any other loss the caller may have had the answer: of its charge goes what the repeat is charged.
   */
  async #run(
    name: Uint8Array,
    request: IdempotentRequest,
    lost: IdempotencyRow | null,
    release: () => void,
  ): Promise<Claim> {
    const { store, now, giveBack } = this.#options;
    const { keyId, secret, body } = request;
    const orphans = lost?.state === 'running' ? [lost.decision, lost.earlier].filter((id) => id !== null) : [];
    try {
      let givenBack = 0;
      for (const orphan of orphans) givenBack += await giveBack(orphan, NOTE);
      const run = new StoredRun({
        store,
        now,
        name,
        secret,
        body,
        owed: lost?.state === 'lost' ? lost.decision : null,
        losses: lost?.losses ?? 0,
        // Anybody has as many wallets as he likes, and would have three large answers of each for the price of one.
        tooLargeCounts: isWallet(keyId) ? LOSSES_MAX : 1,
        givenBack,
        giveBack: (decision, instead) => giveBack(decision, NOTE, instead),
        release,
      });
      return { kind: 'run', run: run };
    } catch (cause) {
      release();
      throw cause;
    }
  }

  #release(name: string): void {
    this.#running.delete(name);
    this.#ends++;
    if (this.#running.size === 0) for (const tell of this.#waiters.splice(0)) tell();
  }
}

/** What a row says to a repeat; null when that may run. */
function claimOf(
  { state, verifier, body, decision, answer, losses }: IdempotencyRow,
  seal: AnswerSeal,
  bodyHash: Uint8Array,
): Claim | null {
  // Sent with another secret: neither can the body be compared nor the answer read.
  if (!isSame(seal.verifier, verifier)) return { kind: 'unavailable', decision };
  if (!isSame(seal.bodyMark(bodyHash), body)) return REUSED;
  if (state !== 'kept') return losses < LOSSES_MAX ? null : { kind: 'unavailable', decision };
  const text = answer && seal.open(answer, String(decision));
  const kept = text && decodeAnswer(text);
  return kept ? { kind: 'replay', answer: kept, decision } : { kind: 'unavailable', decision };
}
