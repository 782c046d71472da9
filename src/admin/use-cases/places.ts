import { SignalboxError } from '../../core/errors.ts';
import { type Caller, rootOf } from '../../core/people/caller.ts';

/** The time after which a caller should try again if all slots are taken, ms. */
const RETRY_MS = 1_000;

/** Who holds a slot: the user, with all logins and keys, or else the first key of the line. */
export const holderOf = (caller: Caller): string => caller.user ?? rootOf(caller);

export interface PlaceLimits {
  /** The most slots of one caller. */
  readonly own: number;
  /** The most slots of all callers together. */
  readonly all: number;
  /** The error message if the caller has taken all of its own slots. */
  readonly ownTaken: string;
  /** The error message if all slots are taken, although the caller has taken fewer than its own limit. */
  readonly allTaken: string;
}

/** No limits, for a command that runs alone on a database. */
export const UNBOUNDED: PlaceLimits = {
  own: Number.MAX_SAFE_INTEGER,
  all: Number.MAX_SAFE_INTEGER,
  ownTaken: '',
  allTaken: '',
};

/** Limits how many runs of one kind of work are in progress at the same time. State: gate. */
export class Places {
  readonly #limits: PlaceLimits;
  /** The number of taken slots, only for callers that have any. */
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a slot.
   * @param holder from `holderOf`
   * @returns a function that releases the slot; further calls do nothing
   * @throws SignalboxError `rate_limit_exceeded` if the holder has taken all of its own slots, `overloaded` if no slot is free
   */
  enter(holder: string): () => void {
    const { own, all, ownTaken, allTaken } = this.#limits;
    const count = this.#held.get(holder) ?? 0;
    if (count >= own) throw new SignalboxError('rate_limit_exceeded', ownTaken, { retryAfterMs: RETRY_MS });
    if (this.#taken >= all) throw new SignalboxError('overloaded', allTaken, { retryAfterMs: RETRY_MS });
    this.#held.set(holder, count + 1);
    this.#taken++;
    let isTaken = true;
    return () => {
      if (isTaken) this.#giveBack(holder);
      isTaken = false;
    };
  }

  #giveBack(holder: string): void {
    const rest = (this.#held.get(holder) ?? 0) - 1;
    if (rest > 0) this.#held.set(holder, rest);
    else this.#held.delete(holder);
    this.#taken--;
  }
}
