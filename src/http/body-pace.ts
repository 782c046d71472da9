import type { Timer, Timers } from '../core/timers.ts';

/** Bytes of the smallest body that may wait: many smaller ones take little. A body of unknown length counts as one. */
export const LARGE_BYTES_MIN = 65_537;
/** Bytes of large bodies that go on in one turn of the event loop. */
const TURN_BYTES = 4_194_304;
/** Bytes of all bodies in memory from which on memory is short. */
const SHORT_BYTES = 67_108_864;
/** Bytes of large bodies after which, while memory is short, what is left of them is collected. */
const COLLECTED_BYTES = 16_777_216;
/** How often the end of a shortage is looked for, ms. */
const LOOK_MS = 250;

/** A large body that waits. */
interface WaitingBody {
  readonly bytes: number;
  begin(): void;
}

/** Lets large bodies that come together go on one after the other, about 4 MiB in each turn of the event loop. State: gate. */
export class TurnPace {
  readonly #line: WaitingBody[] = [];
  readonly #onBegin: (bytes: number) => void;
  /** Bytes that may still go on in this turn. */
  #left = TURN_BYTES;
  #isTurnAwaited = false;

  /** @param onBegin called with the bytes of each large body that goes on */
  constructor(onBegin: (bytes: number) => void = () => {}) {
    this.#onBegin = onBegin;
  }

  /**
   * Waits until a body may go on, first in, first out.
   * @param bytes of the body
   * @returns null where that is at once
   */
  turn(bytes: number): Promise<void> | null {
    if (bytes < LARGE_BYTES_MIN) return null;
    if (this.#line.length === 0 && this.#left > 0) {
      this.#begin(bytes);
      return null;
    }
    return new Promise((begin) => this.#line.push({ bytes, begin }));
  }

  #begin(bytes: number): void {
    this.#left -= bytes;
    this.#onBegin(bytes);
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    setImmediate(() => this.#goOn());
  }

  /** A new turn. */
  #goOn(): void {
    this.#isTurnAwaited = false;
    this.#left = TURN_BYTES;
    while (this.#left > 0) {
      const next = this.#line.shift();
      if (!next) return;
      this.#begin(next.bytes);
      next.begin();
    }
  }
}

/** The bodies of all requests, as the pace needs them. */
interface HeldBodies {
  /** Bytes of all bodies in memory. */
  readonly bytes: number;
  readonly timers: Timers;
}

/**
 * Bounds the memory of large bodies that arrive together. A body that waits is in memory once; while it is parsed, decided and sent on it
 * has three to five copies, and the engine collects late, because few objects hold them. So bodies are read and worked on at a
 * pace, and collections follow. `docs/decisions/0036-bodies-in-memory.md` has the figures. State: gate.
 */
export class BodyPace {
  /** For bodies that may have arrived whole. */
  readonly reading = new TurnPace();
  /** For bodies that have been read: slow ones end together, too. */
  readonly work = new TurnPace((bytes) => this.#begun(bytes));
  readonly #held: HeldBodies;
  readonly #collect: () => void;
  /** Bytes that were begun since the last collection. */
  #bytes = 0;
  /** Looks for the end of a shortage; null while there is none. */
  #look: Timer | null = null;

  /** @param collect frees the memory of objects that nothing refers to */
  constructor(held: HeldBodies, collect: () => void = () => Bun.gc(true)) {
    this.#held = held;
    this.#collect = collect;
  }

  #begun(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < COLLECTED_BYTES || this.#held.bytes < SHORT_BYTES) return;
    this.#collectNow();
    if (this.#look) return;
    this.#look = this.#held.timers.every(LOOK_MS, () => this.#endShortage());
    this.#look.unref();
  }

  /** Otherwise the garbage of one flood would still be in memory when the next flood comes. */
  #endShortage(): void {
    if (this.#held.bytes >= SHORT_BYTES) return;
    this.#look?.close();
    this.#look = null;
    this.#collectNow();
  }

  #collectNow(): void {
    this.#bytes = 0;
    this.#collect();
  }
}
