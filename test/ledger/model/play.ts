import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIds } from '../../../src/core/id.ts';
import { steady } from '../../../src/core/time/clock.ts';
import type { FundShortage } from '../../../src/ledger/available-funds.ts';
import type { Earmark, Hold } from '../../../src/ledger/hold.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { ACTIONS, type Action } from './actions.ts';
import { Chance } from './chance.ts';
import { compare, expectEqual } from './compare.ts';
import { type Adjustment, type Ask, type Entry, type Terms, timeOf } from './entries.ts';
import { Reference } from './reference.ts';
import { Subject } from './subject.ts';

/** A request, as its caller sees it. */
export interface Asked {
  readonly ask: Ask;
  /** Null while the request waits or is being written. */
  told: Hold | Earmark | FundShortage | Error | null;
}

/** A payment into a balance, as the receiver of the payment sees it. */
export interface Paid {
  readonly entry: Entry;
  told: 'booked' | Error | null;
}

/** A raise, as its caller sees it. */
export interface Raised {
  readonly id: number;
  told: boolean | Error | null;
}

/** A reload that is being prepared. */
interface Reload {
  readonly terms: Terms;
  /** When the preparation began, ms; null if it waits for the disk. No time passes then, because the preparation reads it later. */
  readonly preparedAt: number | null;
  /** The function that activates the terms, once they are ready. */
  swap: (() => void) | 'refused' | null;
}

export type Counts = Record<Action | 'waited' | 'refused', number>;

/** Runs the ledger and the reference in parallel. */
export class Play {
  readonly chance: Chance;
  readonly reference: Reference;
  readonly counts: Counts;
  readonly trace: string[] = [];
  readonly asked = new Map<number, Asked>();
  readonly raised = new Map<number, Raised>();
  /** The payments whose booking was not checked yet. */
  paid: Paid[] = [];
  #payments = 0;
  /** The holds that their callers have closed. Some callers settle a hold again. */
  ended: Hold[] = [];
  /** The adjustments that operators requested. */
  adjustments: Adjustment[] = [];
  terms: Terms;
  now: number;
  subject!: Subject;
  /** The clock of the server, which does not go back while the server runs. */
  clock!: () => number;
  nextId!: () => number;
  /** True if this step changed a limit or counted a window again, so that more may be spent than there is. */
  limitsMoved = false;
  /** The pots that are beyond their limit, with the excess. */
  over = new Map<string, number>();
  reload: Reload | null = null;
  readonly #folder: string;
  readonly #wrap: (store: SqlStore) => SqlStore;
  #starts = 0;

  constructor(seed: number, folder: string, wrap: (store: SqlStore) => SqlStore) {
    this.chance = new Chance(seed);
    this.now = this.chance.start();
    this.terms = this.chance.edit({ budgets: [], onCrash: 'charge' });
    this.reference = new Reference(this.terms);
    this.counts = { waited: 0, refused: 0 } as Counts;
    for (const action of ACTIONS) this.counts[action] = 0;
    this.#folder = folder;
    this.#wrap = wrap;
  }

  get newNote(): string {
    return `pay_${++this.#payments}`;
  }

  get newFile(): string {
    return join(this.#folder, `${++this.#starts}.db`);
  }

  async start(file: string): Promise<void> {
    this.clock = steady(() => this.now);
    this.subject = await Subject.open(file, this.terms, this.clock, this.#wrap);
    this.nextId = createIds(this.clock, this.subject.lastId);
    this.asked.clear();
    this.raised.clear();
    this.paid = [];
    this.ended = [];
    this.reload = null;
    this.limitsMoved = true;
  }

  /** Starts again with what is on disk, which contains the first `kept` entries. */
  async startAgain(file: string, kept: number): Promise<void> {
    const { reference } = this;
    await this.start(file);
    const expected = reference.restart(kept, this.terms, this.adjustments);
    const lastId = Math.max(0, ...reference.reservations.keys());
    expectEqual('recovered', this.subject.ledger.recovered, expected);
    expectEqual('last ID', this.subject.lastId, lastId);
    reference.at(Math.max(this.now, lastId === 0 ? 0 : timeOf(lastId)));
  }

  /** Lets the ledger and the model do everything that the disk does not block, and compares both. */
  async settleDown(): Promise<void> {
    const { subject, reference } = this;
    await subject.quiet();
    if (!subject.gate.isShut) reference.written();
    if (this.reload?.swap && !(this.reload.swap !== 'refused' && this.chance.yes(0.2))) await this.#swap();
    reference.at(this.now);
    await compare(this);
    this.limitsMoved = false;
  }

  async #swap(): Promise<void> {
    const { terms, preparedAt, swap } = this.reload!;
    this.reload = null;
    this.limitsMoved = true;
    if (swap === 'refused' || swap === null) return;
    this.reference.at(this.now);
    this.terms = terms;
    swap();
    this.reference.reload(terms, preparedAt ?? this.reference.time);
    await this.subject.quiet();
    if (!this.subject.gate.isShut) this.reference.written();
  }

  track<T>(promise: Promise<T>, into: { told: T | Error | null }): void {
    promise.then(
      (told) => {
        into.told = told;
      },
      (error: Error) => {
        into.told = error;
      },
    );
  }

  /** The earmarks that were neither captured nor released. */
  earmarks(): { readonly asked: Asked; readonly earmark: Earmark }[] {
    return [...this.reference.earmarks.keys()].flatMap((id) => {
      const asked = this.asked.get(id);
      return asked?.told && 'capture' in asked.told ? [{ asked, earmark: asked.told }] : [];
    });
  }

  /** The holds whose callers have not ended yet. */
  holds(): Hold[] {
    return this.reference.living().flatMap(({ id, state }) => {
      const told = this.asked.get(id)?.told ?? null;
      return state === 'open' && told !== null && 'settle' in told ? [told] : [];
    });
  }
}

export interface Played {
  readonly steps: number;
  readonly counts: Counts;
}

/**
 * The test simulates a crash by copying the files of this folder. A sync to disk proves nothing, so the files are in memory if possible.
 */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/**
 * Plays random steps.
 * @throws Error for the first difference, with the seed and the steps before it
 */
export async function play(
  seed: number,
  steps: number,
  weights: Readonly<Record<Action, number>>,
  actions: Readonly<Record<Action, (play: Play) => unknown>>,
  wrap: (store: SqlStore) => SqlStore = (store) => store,
): Promise<Played> {
  const folder = mkdtempSync(join(PLACE, 'signalbox-'));
  const game = new Play(seed, folder, wrap);
  let step = 0;
  try {
    await game.start(game.newFile);
    for (; step < steps; step++) {
      const action = game.chance.weighted(weights);
      game.trace.push(`${step} ${action}`);
      game.counts[action]++;
      await actions[action](game);
      await game.settleDown();
    }
    return { steps, counts: game.counts };
  } catch (cause) {
    const way = game.trace.slice(-40).join('\n  ');
    throw new Error(`seed ${seed}, step ${step}: ${cause instanceof Error ? cause.message : cause}\n  ${way}`, {
      cause,
    });
  } finally {
    await game.subject?.end();
    rmSync(folder, { recursive: true, force: true });
  }
}
