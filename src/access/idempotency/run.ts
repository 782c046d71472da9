import type { Microcredits } from '../../core/credits.ts';
import type { AnswerRow, AnswerVersion } from '../../store/idempotency.ts';
import { type InstanceName, nameOf } from '../../store/instance.ts';
import type { Repositories } from '../../store/repositories.ts';
import { isUnmet, type Store, StoreError, type Write } from '../../store/store.ts';
import { ANSWER_BYTES_MAX, bodyOf, encodeAnswer, type StoredAnswer } from './answer.ts';
import { AnswerSeal, newSalt } from './crypto.ts';

/** Another run has claimed the name first: nothing was written, and the row says how that run stands. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken';
}

/** Returns `NameTaken` for the error of a commit whose claim was refused, else the error itself. */
export const takenBy = (cause: unknown): unknown =>
  isUnmet(cause) ? new NameTaken('another run has the name', { cause }) : cause;

export interface RunContext {
  readonly store: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'idempotency'>;
  readonly instance: InstanceName;
  readonly now: () => number;
  readonly name: Uint8Array;
  /** The row that the claim has found, expired ones too; null for none. */
  readonly seen: AnswerVersion | null;
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
 * The right to carry a request out. Its holder claims the name with the hold before anything is sent, and ends the
 * run once its charge is booked by `keep`, `lose`, `tooLarge` or `drop`. Only the first of these counts.
 */
export type IdempotentRun = Pick<StoredRun, 'claim' | 'begin' | 'keep' | 'lose' | 'tooLarge' | 'drop'> &
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

  /**
   * Returns the write that claims the name, for the commit of the hold: it refuses that commit with the reason `unmet` where
   * another run has claimed the name. Called once.
   */
  claim(decision: number): Write {
    const { store, instance, secret, body, owed, losses, seen } = this.#context;
    const seal = new AnswerSeal(secret, newSalt());
    this.#start = { decision, seal, mark: seal.bodyMark(body) };
    const owner = nameOf(instance);
    return store.idempotency.claim(this.#row(this.#start, { state: 'running', earlier: owed, losses, owner }), seen);
  }

  /**
   * Claims the name by itself, for a request whose money comes by another way. Durable when it resolves.
   * @throws NameTaken, StoreError
   */
  async begin(decision: number): Promise<void> {
    try {
      await this.#context.store.commit([this.claim(decision)]);
    } catch (cause) {
      throw takenBy(cause);
    }
  }

  /** Stores the answer. Durable when it resolves. An answer that is too large or cannot be written is lost. */
  keep(answer: StoredAnswer): Promise<void> {
    if (Buffer.byteLength(bodyOf(answer)) > ANSWER_BYTES_MAX) return this.tooLarge();
    const { losses } = this.#context;
    return this.#end(async (start) => {
      await this.#giveBackFor(start);
      const sealed = start.seal.seal(encodeAnswer(answer), String(start.decision));
      return this.#replace(start, this.#row(start, { state: 'kept', losses, answer: sealed }));
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

  /** Nothing was charged: restores the state before the request, whether the claim was written or refused with its hold. */
  drop(): Promise<void> {
    const { store, seen, owed, losses } = this.#context;
    return this.#end(async (start) => {
      // Keeps the count of losses and the charge: the lost answer may have been read.
      const row =
        losses === 0 ? null : this.#row({ ...start, decision: owed ?? start.decision }, { state: 'lost', losses });
      return seen === null
        ? this.#replace(start, row)
        : [...this.#replace(start, row), store.idempotency.replace(seen, row)];
    });
  }

  #lose(count: number): Promise<void> {
    const losses = this.#context.losses + count;
    return this.#end(async (start) => {
      await this.#giveBackFor(start);
      return this.#replace(start, this.#row(start, { state: 'lost', losses }));
    });
  }

  #row({ decision, seal, mark }: RunStart, as: Pick<AnswerRow, 'state' | 'losses'> & Partial<AnswerRow>): AnswerRow {
    const { name, now } = this.#context;
    const { salt, verifier } = seal;
    return { name, decision, earlier: null, time: now(), salt, verifier, body: mark, answer: null, owner: null, ...as };
  }

  /** Replaces the row of this run alone: where another run has taken it over, the row is that one's. */
  #replace({ seal: { salt } }: RunStart, row: AnswerRow | null): readonly Write[] {
    const { store, name } = this.#context;
    return [store.idempotency.replace({ name, state: 'running', salt }, row)];
  }

  /** Gives back no more than this run costs: the caller may have read the lost answer. */
  async #giveBackFor({ decision }: RunStart): Promise<void> {
    const { owed, giveBack } = this.#context;
    if (owed !== null) this.givenBack += await giveBack(owed, decision);
  }

  async #end(write: (start: RunStart) => Promise<readonly Write[]>): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    const start = this.#start;
    try {
      // A run that never began has changed nothing.
      if (start) await this.#context.store.commit(await write(start));
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      if (start) this.#leave(start);
    } finally {
      this.#context.release();
    }
  }

  /** The row still says `running`: without its owner, a repeat treats it as lost. Written once the store takes writes again. */
  #leave(start: RunStart): void {
    const { store, owed, losses } = this.#context;
    store.append(this.#replace(start, this.#row(start, { state: 'running', earlier: owed, losses })));
  }
}
