import type { Microcredits } from '../../core/money/credits.ts';
import type { AnswerRow, AnswerVersion } from '../../store/idempotency.ts';
import { type InstanceName, nameOf } from '../../store/instance.ts';
import type { Repositories } from '../../store/repositories.ts';
import { isUnmet, type Store, StoreError, type Write } from '../../store/store.ts';
import { ANSWER_BYTES_MAX, bodyOf, encodeAnswer, type StoredAnswer } from './answer.ts';
import { AnswerSeal, newSalt } from './crypto.ts';

/** Another run has claimed the name first. Nothing was written. The row shows the state of the other run. */
export class NameTaken extends Error {
  override readonly name = 'NameTaken';
}

/** Returns `NameTaken` if a commit failed because of its claim, else the error itself. */
export const takenBy = (cause: unknown): unknown =>
  isUnmet(cause) ? new NameTaken('another run has the name', { cause }) : cause;

export interface RunContext {
  readonly store: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'idempotency'>;
  readonly instance: InstanceName;
  readonly now: () => number;
  readonly name: Uint8Array;
  /** The row that the claim has found, even if it has expired; null for none. */
  readonly seen: AnswerVersion | null;
  readonly secret: string;
  /** The SHA-256 of the body. */
  readonly body: Uint8Array;
  /** The decision whose answer was lost but whose charge was not refunded yet; null for none. */
  readonly owed: number | null;
  readonly losses: number;
  /** How many losses an answer counts as if it is too large to store. */
  readonly tooLargeCounts: number;
  readonly givenBack: Microcredits;
  /** Refunds the charge of a decision, at most the charge of another decision. */
  giveBack(decision: number, instead: number): Promise<Microcredits>;
  /** Lets the next request with this name start. */
  readonly release: () => void;
}

interface RunStart {
  readonly decision: number;
  readonly seal: AnswerSeal;
  readonly mark: Uint8Array;
}

/**
 * The right to carry out a request. The holder first claims the name, in the same commit as the hold, before anything is sent. When the
 * charge is stored, the holder ends the run with `keep`, `lose`, `tooLarge` or `drop`. Only the first call of `keep`, `lose`, `tooLarge` or
 * `drop` counts.
 */
export type IdempotentRun = Pick<StoredRun, 'claim' | 'begin' | 'keep' | 'lose' | 'tooLarge' | 'drop'> &
  Readonly<Pick<StoredRun, 'givenBack'>>;

export class StoredRun {
  /**
   * The refund for earlier runs whose answers were lost. Refunds for crashes are known when the run starts; refunds for other losses are
   * known when the run ends.
   */
  givenBack: Microcredits;
  readonly #context: RunContext;
  #start: RunStart | null = null;
  #ended = false;

  constructor(context: RunContext) {
    this.#context = context;
    this.givenBack = context.givenBack;
  }

  /**
   * Returns the write that claims the name, for the commit of the hold. If another run has claimed the name, the commit is refused with the
   * reason `unmet`. `claim` is called once.
   */
  claim(decision: number): Write {
    const { store, instance, secret, body, owed, losses, seen } = this.#context;
    const seal = new AnswerSeal(secret, newSalt());
    this.#start = { decision, seal, mark: seal.bodyMark(body) };
    const owner = nameOf(instance);
    return store.idempotency.claim(this.#row(this.#start, { state: 'running', earlier: owed, losses, owner }), seen);
  }

  /**
   * Claims the name in a commit of its own, for a request that is not paid by a hold of the ledger. The claim is durable when the promise
   * resolves.
   * @throws NameTaken, StoreError
   */
  async begin(decision: number): Promise<void> {
    try {
      await this.#context.store.commit([this.claim(decision)]);
    } catch (cause) {
      throw takenBy(cause);
    }
  }

  /**
   * Stores the answer. The answer is durable when the promise resolves. An answer that is too large or cannot be written counts as lost.
   */
  keep(answer: StoredAnswer): Promise<void> {
    if (Buffer.byteLength(bodyOf(answer)) > ANSWER_BYTES_MAX) return this.tooLarge();
    const { losses } = this.#context;
    return this.#end(async (start) => {
      await this.#giveBackFor(start);
      const sealed = start.seal.seal(encodeAnswer(answer), String(start.decision));
      return this.#replace(start, this.#row(start, { state: 'kept', losses, answer: sealed }));
    });
  }

  /** Notes that the answer cannot be stored. A repeat of the request runs again, and the charge of the lost answer is refunded. */
  lose(): Promise<void> {
    return this.#lose(1);
  }

  /** Notes that the answer is too large to store. An answer that is too large counts as `tooLargeCounts` losses. */
  tooLarge(): Promise<void> {
    return this.#lose(this.#context.tooLargeCounts);
  }

  /**
   * Restores the state before the request, because nothing was charged. The claim may have been written, or refused together with its hold.
   */
  drop(): Promise<void> {
    const { store, seen, owed, losses } = this.#context;
    return this.#end(async (start) => {
      // Keep the count of losses and the charge, because the caller may have read the lost answer.
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

  /** Replaces only the row of this run. If another run has taken over the row, the row stays unchanged. */
  #replace({ seal: { salt } }: RunStart, row: AnswerRow | null): readonly Write[] {
    const { store, name } = this.#context;
    return [store.idempotency.replace({ name, state: 'running', salt }, row)];
  }

  /** Refunds at most the cost of this run, because the caller may have read the lost answer. */
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

  /**
   * The row in the store still says `running`. Removing the owner of the row makes a repeat treat the answer as lost. The row without its
   * owner is written when the store accepts writes again.
   */
  #leave(start: RunStart): void {
    const { store, owed, losses } = this.#context;
    store.append(this.#replace(start, this.#row(start, { state: 'running', earlier: owed, losses })));
  }
}
