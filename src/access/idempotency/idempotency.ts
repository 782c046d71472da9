import type { Microcredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import type { Timers } from '../../core/time/timers.ts';
import type { AnswerHead } from '../../store/idempotency.ts';
import { type Instance, isSameInstance, nameOf } from '../../store/instance.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store } from '../../store/store.ts';
import { decodeAnswer, type OpenedAnswer } from './answer.ts';
import { AnswerSeal, isSame, newSalt, requestNameOf } from './crypto.ts';
import { type IdempotentRun, NameTaken, StoredRun, takenBy } from './run.ts';
import { keyOf, RunWaits, type WaitLimits } from './waits.ts';

/** How long answers and lost answers are remembered, ms. */
const RETENTION_MS = DAY_MS;
/**
 * After this many lost answers without a crash, the last charge is final. Without this limit, answers that are too large to store would be
 * free.
 */
export const LOSSES_MAX = 3;
/** The note of the refund in the journal. */
const NOTE = 'its answer was lost, and the request repeated';

export interface IdempotencyOptions {
  readonly store: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'idempotency'>;
  /** The server that owns the runs that begin here. */
  readonly instance: Pick<Instance, 'slot' | 'epoch' | 'lives'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly timers: Timers;
  /** Whether the hold of a decision is still open, so that its charge is not known yet. */
  isOpen(decision: number): Promise<boolean>;
  /** Durably refunds the rest of a charge, at most the charge of `instead`. A second call refunds nothing. */
  giveBack(decision: number, note: string, instead?: number): Promise<Microcredits>;
}

export interface KeyedRequest {
  readonly keyId: string;
  /**
   * The secret from which the answer's encryption key is derived. For an API key, this secret is the key itself. For a subject of tokens,
   * the secret belongs to the store; for a change, the secret is the credential that the caller used.
   */
  readonly secret: string;
  readonly idempotencyKey: string;
  /** SHA-256 of the body. */
  readonly body: Uint8Array;
  /**
   * Whether the request changes something and is free. A free change is never carried out a second time, because the first run may have
   * made the change.
   */
  readonly isChange?: boolean;
}

/**
 * Why a request neither runs nor gets an answer. `unavailable`: the request was charged, or started as a change, and its answer cannot be
 * read.
 */
export type ClaimRefusal =
  /** `isEqual`: the running request has the same secret and body, so its answer will also answer this request. */
  | { readonly kind: 'in-flight'; readonly isEqual: boolean }
  | { readonly kind: 'reused' }
  | { readonly kind: 'unavailable'; readonly decision: number };

export type Claim = { readonly kind: 'run'; readonly run: IdempotentRun } | KeptRepeat | ClaimRefusal;

/** A repeat whose answer is stored. The answer is read only with `open`, because it can have 1 MiB. */
export interface KeptRepeat {
  readonly kind: 'replay';
  readonly decision: number;
  /** Bytes of the stored answer. */
  readonly bytes: number;
  /**
   * Reads and decrypts the answer.
   * @returns null for an answer that another version has written, or that is no longer stored
   * @throws StoreError
   */
  open(): Promise<OpenedAnswer | null>;
}

const IN_FLIGHT: Claim = { kind: 'in-flight', isEqual: true };
/** The name is in use with another secret, so the running request belongs to another sender. */
const OTHER_IN_FLIGHT: Claim = { kind: 'in-flight', isEqual: false };
const REUSED: Claim = { kind: 'reused' };

/**
 * Answers repeated requests. A request claims its name by writing a row that names the server as owner. While the owner of a row lives, the
 * request of the row counts as running. A running row of a server that has ended was left by a crash. Each server also has its own runs in
 * memory, so that a repeat on the same server needs no read. State: names.
 */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  /** The runs of this instance, by name. */
  readonly #running = new Map<string, Pick<KeyedRequest, 'secret' | 'body'>>();
  readonly #waits: RunWaits;
  /** Counts runs that have ended. A row that was read before a run ended is read again. */
  #ends = 0;
  #waiters: (() => void)[] = [];

  constructor(options: IdempotencyOptions) {
    this.#options = options;
    const isRunning = async (name: Uint8Array) => this.#running.has(keyOf(name)) || (await this.#find(name)).isRunning;
    this.#waits = new RunWaits({ timers: options.timers, isRunning });
  }

  /**
   * Like `claim`, but a repeat with the same secret and body waits while the first request runs. If the first run stores no answer, one of
   * the waiting repeats runs, and the other repeats wait for this repeat.
   * @returns `in-flight` if the wait reached its limits
   * @throws StoreError like `claim`, and the error of `limits.check`
   */
  async claimInTurn(request: KeyedRequest, limits: WaitLimits): Promise<Claim> {
    let claim = await this.claim(request);
    if (!canWait(claim)) return claim;
    using waiter = this.#waits.enter(requestNameOf(request.keyId, request.idempotencyKey), limits);
    for (;;) {
      // Claim once before waiting, because the run may have ended before the wait began.
      claim = await this.claim(request);
      if (!canWait(claim) || !(await waiter.next())) return claim;
      await limits.check?.();
    }
  }

  /** Ends all current and future waits, because the server is stopping. */
  stopWaiting(): void {
    this.#waits.close();
  }

  /**
   * Finds the stored answer of a request, or starts a run. The run's own claim is refused if another server has claimed the name in the
   * meantime.
   * @throws StoreError if the row cannot be read or a charge cannot be refunded
   */
  async claim(request: KeyedRequest): Promise<Claim> {
    const bytes = requestNameOf(request.keyId, request.idempotencyKey);
    const name = keyOf(bytes);
    for (;;) {
      const running = this.#running.get(name);
      if (running) return claimBeside(running, request);
      const ends = this.#ends;
      const { row, isRunning } = await this.#find(bytes);
      if (this.#ends !== ends || this.#running.has(name)) continue;
      const claim = this.#claimOf(row, isRunning, request);
      if (claim) return claim;
      this.#running.set(name, request);
      try {
        return await this.#run(bytes, request, row, () => this.#release(name));
      } catch (cause) {
        this.#release(name);
        // Another server has claimed the name first, or the old run has ended after all. The next repeat of the request reads the result.
        if (cause instanceof NameTaken) return IN_FLIGHT;
        throw cause;
      }
    }
  }

  /** Deletes rows that are older than a day, in batches. Returns their number. */
  prune(): Promise<number> {
    const { store, now } = this.#options;
    return store.idempotency.prune(now() - RETENTION_MS);
  }

  /** Resolves when no request is running. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /**
   * Removes the owner from running rows of servers that have ended, so that the rows can be pruned. A repeat of the request refunds the
   * charges of such a row. Each row is handled once. Rejects with StoreError.
   */
  async sweep(): Promise<void> {
    const { store, instance } = this.#options;
    for (const owner of await store.idempotency.owners()) {
      if (!(await instance.lives(owner))) await store.commit([store.idempotency.disown(owner)]);
    }
  }

  /** Finds a row, and whether its run continues on another server, or can still be charged after that server has ended. */
  async #find(name: Uint8Array): Promise<{ readonly row: AnswerHead | null; readonly isRunning: boolean }> {
    const { store, instance, isOpen } = this.#options;
    const row = await store.idempotency.head(name);
    if (row?.state !== 'running') return { row, isRunning: false };
    const { owner, decision, earlier } = row;
    if (owner && !this.#isOwn(row) && (await instance.lives(owner))) return { row, isRunning: true };
    return { row, isRunning: (await isOpen(decision)) || (earlier !== null && (await isOpen(earlier))) };
  }

  #isOwn({ owner }: AnswerHead): boolean {
    return owner !== null && isSameInstance(owner, this.#options.instance);
  }

  /** Returns the claim that a row allows; null if the request may run. */
  #claimOf(row: AnswerHead | null, isRunning: boolean, { secret, body, isChange = false }: KeyedRequest): Claim | null {
    if (!row) return null;
    const seal = new AnswerSeal(secret, row.salt);
    if (!isRunning) return this.#isExpired(row) ? null : this.#endedClaim(row, seal, body, isChange);
    // While a request with another secret runs, the bodies cannot be compared.
    if (!isSame(seal.verifier, row.verifier)) return OTHER_IN_FLIGHT;
    return isSame(seal.bodyMark(body), row.body) ? IN_FLIGHT : REUSED;
  }

  /** Returns the claim that the row of an ended run allows; null if the request may run. */
  #endedClaim(row: AnswerHead, seal: AnswerSeal, bodyHash: Uint8Array, isChange: boolean): Claim | null {
    const { name, state, salt, verifier, body, decision, answerBytes: bytes, losses } = row;
    // The row was written with another secret, so neither its body nor its answer can be read.
    if (!isSame(seal.verifier, verifier)) return { kind: 'unavailable', decision };
    if (!isSame(seal.bodyMark(bodyHash), body)) return REUSED;
    if (state !== 'kept') return !isChange && losses < LOSSES_MAX ? null : { kind: 'unavailable', decision };
    const open = async () => {
      const found = await this.#options.store.idempotency.find(name);
      const text = found?.answer && isSame(found.salt, salt) ? seal.openBytes(found.answer, String(decision)) : null;
      return text && decodeAnswer(text);
    };
    return { kind: 'replay', decision, bytes, open };
  }

  #isExpired({ time }: AnswerHead): boolean {
    return time <= this.#options.now() - RETENTION_MS;
  }

  /**
   * Starts a run. The charge of a crashed run is refunded at once, so that it cannot block the new hold. After any other loss, the caller
   * may have read the answer, so at most the charge of the repeat is refunded.
   */
  async #run(name: Uint8Array, request: KeyedRequest, found: AnswerHead | null, release: () => void): Promise<Claim> {
    const { store, instance, now, giveBack } = this.#options;
    const { keyId, secret, body } = request;
    const lost = found && !this.#isExpired(found) ? found : null;
    const seen = lost?.state === 'running' && !this.#isOwn(lost) ? await this.#adopt(lost, request) : found;
    const orphans = lost?.state === 'running' ? [lost.decision, lost.earlier].filter((id) => id !== null) : [];
    let givenBack = 0;
    for (const orphan of orphans) givenBack += await giveBack(orphan, NOTE);
    const run = new StoredRun({
      store,
      instance,
      now,
      name,
      seen,
      secret,
      body,
      owed: lost?.state === 'lost' ? lost.decision : null,
      losses: lost?.losses ?? 0,
      // Anyone can create new addresses. If a lost answer of an address counted as only one loss, each new address could get three large
      // answers for the price of one.
      tooLargeCounts: isAddress(keyId) ? LOSSES_MAX : 1,
      givenBack,
      giveBack: (decision, instead) => giveBack(decision, NOTE, instead),
      release,
    });
    return { kind: 'run', run };
  }

  /**
   * Takes over the running row of a server that has ended, before its charge is refunded. If that server still tries to store its answer,
   * the store refuses it.
   * @throws NameTaken if the row has changed since it was read
   */
  async #adopt(row: AnswerHead, { secret, body }: KeyedRequest): Promise<AnswerHead> {
    const { store, instance } = this.#options;
    const seal = new AnswerSeal(secret, newSalt());
    const { salt, verifier } = seal;
    const adopted = { ...row, salt, verifier, body: seal.bodyMark(body), owner: nameOf(instance) };
    try {
      await store.commit([store.idempotency.claim({ ...adopted, answer: null }, row)]);
    } catch (cause) {
      throw takenBy(cause);
    }
    return adopted;
  }

  #release(name: string): void {
    this.#running.delete(name);
    this.#ends++;
    this.#waits.wake(name);
    if (this.#running.size === 0) for (const resolve of this.#waiters.splice(0)) resolve();
  }
}

const canWait = (claim: Claim): boolean => claim.kind === 'in-flight' && claim.isEqual;

/** Returns the claim of a request whose name a run of this server has. */
function claimBeside(running: Pick<KeyedRequest, 'secret' | 'body'>, { secret, body }: KeyedRequest): Claim {
  // A different body is an error already, so waiting would not help.
  if (!isSame(running.body, body)) return REUSED;
  return isSame(Buffer.from(running.secret), Buffer.from(secret)) ? IN_FLIGHT : OTHER_IN_FLIGHT;
}
