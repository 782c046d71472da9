import type { Microcredits } from '../../core/credits.ts';
import { type Store, StoreError, type Write } from '../../store/store.ts';
import { ANSWER_BYTES_MAX, encodeAnswer, type KeptAnswer } from './answer.ts';
import { newSalt, Seal } from './crypto.ts';
import { deleteRow, putRow, type Row } from './table.ts';

/**
 * The right to carry a request out. Whoever has it calls `begin` with the reservation, before anything is sent; and
 * ends it once its charge is booked, by `keep`, `lose` or `drop`, of which the first counts.
 */
export interface Turn {
  /** What was given back of earlier runs, whose answers were lost: of crashes from the start, of others at the end. */
  readonly givenBack: Microcredits;
  /** Writes down that the request runs; durable when it resolves. Rejects with StoreError. */
  begin(decision: number): Promise<void>;
  /** Keeps the answer, unless it is too large; durable when it resolves. What cannot be written is lost. */
  keep(answer: KeptAnswer): Promise<void>;
  /** There was an answer, and it cannot be kept: a repeat gives its charge back and runs anew. */
  lose(): Promise<void>;
  /** There was an answer, too large to be kept: it is lost, and as often as is allowed. */
  tooLarge(): Promise<void>;
  /** Nothing was charged: as if the request had not come. */
  drop(): Promise<void>;
}

export interface TurnContext {
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

interface Begun {
  readonly decision: number;
  readonly seal: Seal;
  readonly mark: Uint8Array;
}

export class StoredTurn implements Turn {
  givenBack: Microcredits;
  readonly #context: TurnContext;
  #begun: Begun | null = null;
  #ended = false;

  constructor(context: TurnContext) {
    this.#context = context;
    this.givenBack = context.givenBack;
  }

  async begin(decision: number): Promise<void> {
    const { store, secret, body, owed, losses } = this.#context;
    const seal = new Seal(secret, newSalt());
    this.#begun = { decision, seal, mark: seal.bodyMark(body) };
    await store.commit([this.#put(this.#begun, { state: 'running', earlier: owed, losses })]);
  }

  keep(answer: KeptAnswer): Promise<void> {
    if (Buffer.byteLength(answer.body) > ANSWER_BYTES_MAX) return this.tooLarge();
    const { losses } = this.#context;
    return this.#end(async (begun) => {
      await this.#giveBackFor(begun);
      const sealed = begun.seal.seal(encodeAnswer(answer), String(begun.decision));
      return this.#put(begun, { state: 'kept', losses, answer: sealed });
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
    return this.#end(async (begun) =>
      this.#put({ ...begun, decision: owed ?? begun.decision }, { state: 'lost', losses }),
    );
  }

  #lose(count: number): Promise<void> {
    const losses = this.#context.losses + count;
    return this.#end(async (begun) => {
      await this.#giveBackFor(begun);
      return this.#put(begun, { state: 'lost', losses });
    });
  }

  #put({ decision, seal, mark }: Begun, as: Pick<Row, 'state' | 'losses'> & Partial<Row>): Write {
    const { name, now } = this.#context;
    const { salt, verifier } = seal;
    return putRow({ name, decision, earlier: null, time: now(), salt, verifier, body: mark, answer: null, ...as });
  }

  /** Whoever has read the lost answer would else have it for less than it cost. */
  async #giveBackFor({ decision }: Begun): Promise<void> {
    const { owed, giveBack } = this.#context;
    if (owed !== null) this.givenBack += await giveBack(owed, decision);
  }

  async #end(write: (begun: Begun) => Promise<Write>): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    try {
      // What was never begun has changed nothing.
      if (this.#begun) await this.#context.store.commit([await write(this.#begun)]);
    } catch (cause) {
      // The row says `running` still, which nothing does: the repeat takes it for lost.
      if (!(cause instanceof StoreError)) throw cause;
    } finally {
      this.#context.release();
    }
  }
}
