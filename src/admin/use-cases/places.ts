import { type Caller, rootOf } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';

/** When to try again if all places are taken, ms. */
const RETRY_MS = 1_000;

/** The holder of a place: the user with all logins and keys, or else the first key of the line. */
export const holderOf = (caller: Caller): string => caller.user ?? rootOf(caller);

export interface PlaceLimits {
  /** Places of one caller. */
  readonly own: number;
  /** Places of all callers together. */
  readonly all: number;
  /** Said to a caller who has taken all its own places. */
  readonly ownTaken: string;
  /** Said to a caller who has places left while all places together are taken. */
  readonly allTaken: string;
}

/** Bounds how often one kind of work runs at once. State: gate. */
export class Places {
  readonly #limits: PlaceLimits;
  /** Taken places by caller; only of callers who have some. */
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a place.
   * @param holder made by `holderOf`
   * @returns gives the place back; later calls do nothing
   * @throws SignalboxError `rate_limit_exceeded` if the holder has all its places, `overloaded` if none is left
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
