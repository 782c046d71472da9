import type { Microcredits } from '../../core/credits.ts';
import type { AnswerRow } from '../../store/idempotency.ts';
import type { Repositories } from '../../store/repositories.ts';
import { type Store, StoreError, type Write } from '../../store/store.ts';
import { ANSWER_BYTES_MAX, bodyOf, encodeAnswer, type StoredAnswer } from './answer.ts';
import { AnswerSeal, newSalt } from './crypto.ts';

export interface RunContext {
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'idempotency'>;
  readonly now: () => number;
  readonly name: Uint8Array;
  readonly secret: string;
  /** SHA-256. */
  readonly body: Uint8Array;
  /** The decision whose lost answer is still charged; null for none. */
  readonly owed: number | null;
  readonly losses: number;
  /** The number of losses that a too large answer counts as. */
  readonly tooLargeCounts: number;
  readonly givenBack: Microcredits;
  /** Gives back of a decision's charge at most what another decision was charged. */
  giveBack(decision: number, instead: number): Promise<Microcredits>;
  /** Admits the next request of this name. */
  readonly release: () => void;
}

interface RunStart {
  readonly decision: number;
  readonly seal: AnswerSeal;
  readonly mark: Uint8Array;
}

/**
 * The right to carry a request out. Its holder calls `begin` with the hold before anything is sent, and ends the
 * run once its charge is booked by `keep`, `lose`, `tooLarge` or `drop`. Only the first of these counts.
 */
export type IdempotentRun = Pick<StoredRun, 'begin' | 'keep' | 'lose' | 'tooLarge' | 'drop'> &
  Readonly<Pick<StoredRun, 'givenBack'>>;

export class StoredRun {
  /** The credit for earlier runs whose answers were lost: by crashes from the start, by other losses at the end. */
  givenBack: Microcredits;
  readonly #context: RunContext;
  #start: RunStart | null = null;
  #ended = false;

  constructor(context: RunContext) {
    this.#context = context;
    this.givenBack = context.givenBack;
  }

  /** Stores that the request runs. Durable when it resolves. Throws StoreError. */
  async begin(decision: number): Promise<void> {
    const { store, secret, body, owed, losses } = this.#context;
    const seal = new AnswerSeal(secret, newSalt());
    this.#start = { decision, seal, mark: seal.bodyMark(body) };
    await store.commit([this.#put(this.#start, { state: 'running', earlier: owed, losses })]);
  }

  /** Stores the answer. Durable when it resolves. An answer that is too large or cannot be written is lost. */
  keep(answer: StoredAnswer): Promise<void> {
    if (Buffer.byteLength(bodyOf(answer)) > ANSWER_BYTES_MAX) return this.tooLarge();
    const { losses } = this.#context;
    return this.#end(async (start) => {
      await this.#giveBackFor(start);
      const sealed = start.seal.seal(encodeAnswer(answer), String(start.decision));
      return this.#put(start, { state: 'kept', losses, answer: sealed });
    });
  }

  /** The answer cannot be stored: a repeat runs anew, and gets this charge back. */
  lose(): Promise<void> {
    return this.#lose(1);
  }

  /** The answer is too large to store. Counts as `tooLargeCounts` losses. */
  tooLarge(): Promise<void> {
    return this.#lose(this.#context.tooLargeCounts);
  }

  /** Nothing was charged: restores the state before the request. */
  drop(): Promise<void> {
    const { store, name, owed, losses } = this.#context;
    if (losses === 0) return this.#end(async () => store.idempotency.delete(name));
    // Keeps the count of losses and the charge: the lost answer may have been read.
    return this.#end(async (start) =>
      this.#put({ ...start, decision: owed ?? start.decision }, { state: 'lost', losses }),
    );
  }

  #lose(count: number): Promise<void> {
    const losses = this.#context.losses + count;
    return this.#end(async (start) => {
      await this.#giveBackFor(start);
      return this.#put(start, { state: 'lost', losses });
    });
  }

  #put({ decision, seal, mark }: RunStart, as: Pick<AnswerRow, 'state' | 'losses'> & Partial<AnswerRow>): Write {
    const { store, name, now } = this.#context;
    const { salt, verifier } = seal;
    const row = { name, decision, earlier: null, time: now(), salt, verifier, body: mark, answer: null, ...as };
    return store.idempotency.put(row);
  }

  /** Gives back no more than this run costs: the caller may have read the lost answer. */
  async #giveBackFor({ decision }: RunStart): Promise<void> {
    const { owed, giveBack } = this.#context;
    if (owed !== null) this.givenBack += await giveBack(owed, decision);
  }

  async #end(write: (start: RunStart) => Promise<Write>): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    try {
      // A run that never began has changed nothing.
      if (this.#start) await this.#context.store.commit([await write(this.#start)]);
    } catch (cause) {
      // The row still says `running`: a repeat treats it as lost.
      if (!(cause instanceof StoreError)) throw cause;
    } finally {
      this.#context.release();
    }
  }
}
