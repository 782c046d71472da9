import { DAY_MS } from '../../core/clock.ts';
import type { Microcredits } from '../../core/credits.ts';
import { isAddress } from '../../core/holder-address.ts';
import type { Timers } from '../../core/timers.ts';
import type { AnswerRow } from '../../store/idempotency.ts';
import { type Instance, isSameInstance, nameOf } from '../../store/instance.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store } from '../../store/store.ts';
import { decodeAnswer, type StoredAnswer } from './answer.ts';
import { AnswerSeal, isSame, newSalt, requestNameOf } from './crypto.ts';
import { type IdempotentRun, NameTaken, StoredRun, takenBy } from './run.ts';
import { keyOf, RunWaits, type WaitLimits } from './waits.ts';

/** How long answers and losses are stored, ms. */
const RETENTION_MS = DAY_MS;
/** After so many losses without a crash the last charge stands: too large answers must not be free. */
export const LOSSES_MAX = 3;
/** Shown in the journal. */
const NOTE = 'its answer was lost, and the request repeated';

export interface IdempotencyOptions {
  readonly store: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'idempotency'>;
  /** The owner of the runs that begin here. */
  readonly instance: Pick<Instance, 'slot' | 'epoch' | 'lives'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly timers: Timers;
  /** Whether the hold of a decision is still open: its charge is not known yet. */
  isOpen(decision: number): Promise<boolean>;
  /** Durably gives back the rest of a charge, at most the charge of `instead`. A second call gives nothing. */
  giveBack(decision: number, note: string, instead?: number): Promise<Microcredits>;
}

export interface KeyedRequest {
  readonly keyId: string;
  /** Of the API key, as it was sent; of a subject of tokens, one of the store; of a change, whatever its caller proved itself by. */
  readonly secret: string;
  readonly idempotencyKey: string;
  /** SHA-256 of the body. */
  readonly body: Uint8Array;
  /** Whether it changes something at no charge: once it has begun it is never carried out again, since it may have been done. */
  readonly isChange?: boolean;
}

/** Why a request neither runs nor gets an answer. `unavailable`: it was charged, or begun as a change, and its answer cannot be read. */
export type ClaimRefusal =
  /** `isEqual`: the running request has the same secret and body, so its answer is the answer to this one. */
  | { readonly kind: 'in-flight'; readonly isEqual: boolean }
  | { readonly kind: 'reused' }
  | { readonly kind: 'unavailable'; readonly decision: number };

export type Claim =
  | { readonly kind: 'run'; readonly run: IdempotentRun }
  | { readonly kind: 'replay'; readonly answer: StoredAnswer; readonly decision: number }
  | ClaimRefusal;

const IN_FLIGHT: Claim = { kind: 'in-flight', isEqual: true };
/** The same name with another secret: the running request belongs to another sender. */
const OTHER_IN_FLIGHT: Claim = { kind: 'in-flight', isEqual: false };
const REUSED: Claim = { kind: 'reused' };

/**
 * Answers to repeated requests. A name is claimed by the row of its run, whose owner is an instance: while that lives, the
 * request is running. The runs of this instance are in memory, too, so that a repeat need not read: a row of its own that is
 * not there could not be ended. A running row whose instance has ended was left by a crash. State: names.
 */
export class Idempotency {
  readonly #options: IdempotencyOptions;
  /** Runs of this instance, by name. */
  readonly #running = new Map<string, Pick<KeyedRequest, 'secret' | 'body'>>();
  readonly #waits: RunWaits;
  /** Counts the runs that have ended: a row read before such an end is read again. */
  #ends = 0;
  #waiters: (() => void)[] = [];

  constructor(options: IdempotencyOptions) {
    this.#options = options;
    const isRunning = async (name: Uint8Array) => this.#running.has(keyOf(name)) || (await this.#find(name)).isRunning;
    this.#waits = new RunWaits({ timers: options.timers, isRunning });
  }

  /**
   * Like `claim`, but a repeat with the same secret and body waits while the first request runs. After a run without a kept
   * answer, one of the waiting repeats runs and the others wait for it.
   * @returns `in-flight` where the wait has reached its limits
   * @throws StoreError as `claim` does, and the error of `limits.check`
   */
  async claimInTurn(request: KeyedRequest, limits: WaitLimits): Promise<Claim> {
    let claim = await this.claim(request);
    if (!canWait(claim)) return claim;
    using waiter = this.#waits.enter(requestNameOf(request.keyId, request.idempotencyKey), limits);
    for (;;) {
      // The first time, too: the run may have ended before the wait began.
      claim = await this.claim(request);
      if (!canWait(claim) || !(await waiter.next())) return claim;
      await limits.check?.();
    }
  }

  /** Ends all waits, now and from here on: the server stops. */
  stopWaiting(): void {
    this.#waits.close();
  }

  /**
   * Finds the stored answer of a request, or opens a run. The run's own claim is refused where another instance has claimed
   * the name since.
   * @throws StoreError when the row cannot be read or a charge not be given back.
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
        // Another instance was first, or the run has ended after all: the next repeat is told how.
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

  /** Resolves once no request runs. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /**
   * Takes the owner out of the running rows of instances that have ended, so that they can be pruned: a repeat gives their
   * charges back. Each is done once. Rejects with StoreError.
   */
  async sweep(): Promise<void> {
    const { store, instance } = this.#options;
    for (const owner of await store.idempotency.owners()) {
      if (!(await instance.lives(owner))) await store.commit([store.idempotency.disown(owner)]);
    }
  }

  /** Finds a row, and whether its run goes on at another instance, or may be charged still after that has ended. */
  async #find(name: Uint8Array): Promise<{ readonly row: AnswerRow | null; readonly isRunning: boolean }> {
    const { store, instance, isOpen } = this.#options;
    const row = await store.idempotency.find(name);
    if (row?.state !== 'running') return { row, isRunning: false };
    const { owner, decision, earlier } = row;
    if (owner && !this.#isOwn(row) && (await instance.lives(owner))) return { row, isRunning: true };
    return { row, isRunning: (await isOpen(decision)) || (earlier !== null && (await isOpen(earlier))) };
  }

  #isOwn({ owner }: AnswerRow): boolean {
    return owner !== null && isSameInstance(owner, this.#options.instance);
  }

  /** Returns the claim that a row allows; null when the request may run. */
  #claimOf(row: AnswerRow | null, isRunning: boolean, { secret, body, isChange = false }: KeyedRequest): Claim | null {
    if (!row) return null;
    const seal = new AnswerSeal(secret, row.salt);
    if (!isRunning) return this.#isExpired(row) ? null : claimOf(row, seal, body, isChange);
    // The body of a request with another secret cannot be compared while it runs.
    if (!isSame(seal.verifier, row.verifier)) return OTHER_IN_FLIGHT;
    return isSame(seal.bodyMark(body), row.body) ? IN_FLIGHT : REUSED;
  }

  #isExpired({ time }: AnswerRow): boolean {
    return time <= this.#options.now() - RETENTION_MS;
  }

  /**
   * Opens a run. The charge of a crashed run is given back at once, so that it does not block the new hold.
   * After any other loss the caller may have had the answer, so at most the repeat's charge is given back.
   */
  async #run(name: Uint8Array, request: KeyedRequest, found: AnswerRow | null, release: () => void): Promise<Claim> {
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
      // Addresses are free to make: each could get three large answers for the price of one.
      tooLargeCounts: isAddress(keyId) ? LOSSES_MAX : 1,
      givenBack,
      giveBack: (decision, instead) => giveBack(decision, NOTE, instead),
      release,
    });
    return { kind: 'run', run };
  }

  /**
   * Takes over the running row of an instance that has ended, before its charge is given back: should that instance still be about
   * to keep its answer, it comes too late.
   * @throws NameTaken where the row is not as it was found
   */
  async #adopt(row: AnswerRow, { secret, body }: KeyedRequest): Promise<AnswerRow> {
    const { store, instance } = this.#options;
    const seal = new AnswerSeal(secret, newSalt());
    const { salt, verifier } = seal;
    const adopted = { ...row, salt, verifier, body: seal.bodyMark(body), owner: nameOf(instance) };
    try {
      await store.commit([store.idempotency.claim(adopted, row)]);
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

/** Returns the claim of a request whose name a run of this instance has. */
function claimBeside(running: Pick<KeyedRequest, 'secret' | 'body'>, { secret, body }: KeyedRequest): Claim {
  // Another body is an error already: waiting would not help.
  if (!isSame(running.body, body)) return REUSED;
  return isSame(Buffer.from(running.secret), Buffer.from(secret)) ? IN_FLIGHT : OTHER_IN_FLIGHT;
}

/** Returns the claim that a row allows; null when the request may run. */
function claimOf(row: AnswerRow, seal: AnswerSeal, bodyHash: Uint8Array, isChange: boolean): Claim | null {
  const { state, verifier, body, decision, answer, losses } = row;
  // Sent with another secret: neither body nor answer can be read.
  if (!isSame(seal.verifier, verifier)) return { kind: 'unavailable', decision };
  if (!isSame(seal.bodyMark(bodyHash), body)) return REUSED;
  if (state !== 'kept') return !isChange && losses < LOSSES_MAX ? null : { kind: 'unavailable', decision };
  const text = answer && seal.open(answer, String(decision));
  const stored = text && decodeAnswer(text);
  return stored ? { kind: 'replay', answer: stored, decision } : { kind: 'unavailable', decision };
}
