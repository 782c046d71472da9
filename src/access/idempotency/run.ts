import type { Microcredits } from '../../core/credits.ts';
import { type Store, StoreError, type Write } from '../../store/store.ts';
import { ANSWER_BYTES_MAX, encodeAnswer, type StoredAnswer } from './answer.ts';
import { AnswerSeal, newSalt } from './crypto.ts';
import { deleteRow, type IdempotencyRow, putRow } from './table.ts';

/**
 * The right to carry a request out. Whoever has it calls `begin` with the reservation, before anything is sent; and
 * ends it once its charge is booked, by `keep`, `lose` or `drop`, of which the first counts.
 */
export interface IdempotentRun {
  /** What was given back of earlier runs, whose answers were lost: of crashes from the start, of others at the end. */
  readonly givenBack: Microcredits;
  /** Writes down that the request runs; durable when it resolves. Rejects with StoreError. */
  begin(decision: number): Promise<void>;
  /** Keeps the answer, unless it is too large; durable when it resolves. What cannot be written is lost. */
  keep(answer: StoredAnswer): Promise<void>;
  /** There was an answer, and it cannot be kept: a repeat gives its charge back and runs anew. */
  lose(): Promise<void>;
  /** There was an answer, too large to be kept: it is lost, and as often as is allowed. */
  tooLarge(): Promise<void>;
  /** Nothing was charged: as if the request had not come. */
  drop(): Promise<void>;
}

export interface RunContext {
  readonly store: Store;
  readonly now: () => number;
  readonly name: Uint8Array;
  /** Of the API key. */
  readonly secret: string;
  /** SHA-256. */
  readonly body: Uint8Array;
  /** A decision to give back as far as this one is charged; null for none. */
  readonly owed: number | null;
  readonly losses: number;
  /** As how many losses an answer counts that is too large. */
  readonly tooLargeCounts: number;
  /** What was given back already. */
  readonly givenBack: Microcredits;
  /** Gives back of a decision's charge what another one was charged in its place. */
  giveBack(decision: number, instead: number): Promise<Microcredits>;
  /** Lets the next one come. */
  readonly release: () => void;
}

interface RunStart {
  readonly decision: number;
  readonly seal: AnswerSeal;
  readonly mark: Uint8Array;
}

export class StoredRun implements IdempotentRun {
  givenBack: Microcredits;
  readonly #context: RunContext;
  #start: RunStart | null = null;
  #ended = false;

  constructor(context: RunContext) {
    this.#context = context;
    this.givenBack = context.givenBack;
  }

  async begin(decision: number): Promise<void> {
    const { store, secret, body, owed, losses } = this.#context;
    const seal = new AnswerSeal(secret, newSalt());
    this.#start = { decision, seal, mark: seal.bodyMark(body) };
    await store.commit([this.#put(this.#start, { state: 'running', earlier: owed, losses })]);
  }

  keep(answer: StoredAnswer): Promise<void> {
    if (Buffer.byteLength(answer.body) > ANSWER_BYTES_MAX) return this.tooLarge();
    const { losses } = this.#context;
    return this.#end(async (start) => {
      await this.#giveBackFor(start);
      const sealed = start.seal.seal(encodeAnswer(answer), String(start.decision));
      return this.#put(start, { state: 'kept', losses, answer: sealed });
    });
  }

  lose(): Promise<void> {
    return this.#lose(1);
  }

  tooLarge(): Promise<void> {
    return this.#lose(this.#context.tooLargeCounts);
  }

  drop(): Promise<void> {
    const { name, owed, losses } = this.#context;
    if (losses === 0) return this.#end(async () => deleteRow(name));
    // That it was lost before is not forgotten, nor that it is still charged: its answer may have been read.
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

  #put(
    { decision, seal, mark }: RunStart,
    as: Pick<IdempotencyRow, 'state' | 'losses'> & Partial<IdempotencyRow>,
  ): Write {
    const { name, now } = this.#context;
    const { salt, verifier } = seal;
    return putRow({ name, decision, earlier: null, time: now(), salt, verifier, body: mark, answer: null, ...as });
  }

  /** Whoever has read the lost answer would else have it for less than it cost. */
  async #giveBackFor({ decision }: RunStart): Promise<void> {
    const { owed, giveBack } = this.#context;
    if (owed !== null) this.givenBack += await giveBack(owed, decision);
  }

  async #end(write: (start: RunStart) => Promise<Write>): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    try {
      // What was never begun has changed nothing.
      if (this.#start) await this.#context.store.commit([await write(this.#start)]);
    } catch (cause) {
      // The row says `running` still, which nothing does: the repeat takes it for lost.
      if (!(cause instanceof StoreError)) throw cause;
    } finally {
      this.#context.release();
    }
  }
}
