/**
 * The most prompts of one key that providers count at the same time. Counts of prompts cost nothing, but each count sends a whole prompt.
 */
const COUNTS_MAX = 4;

/** The running and waiting counts of prompts of one key. */
interface KeyCounts {
  underWay: number;
  /** The counts that wait for a slot, the oldest first. */
  readonly waiting: Set<() => void>;
}

/** Limits how many prompts of each key providers count at the same time. State: count places. */
export class CountPlaces {
  readonly #keys = new Map<string, KeyCounts>();

  /**
   * Waits for a free slot of a key. The caller must release each slot with `leave`.
   * @returns false if no slot became free in time
   */
  take(keyId: string, withinMs: number): boolean | Promise<boolean> {
    const counts = this.#keys.getOrInsertComputed(keyId, () => ({ underWay: 0, waiting: new Set() }));
    if (counts.underWay < COUNTS_MAX) {
      counts.underWay++;
      return true;
    }
    const { waiting } = counts;
    const turn = Promise.withResolvers<boolean>();
    const enter = () => {
      clearTimeout(timer);
      turn.resolve(true);
    };
    const timer = setTimeout(() => {
      waiting.delete(enter);
      turn.resolve(false);
    }, withinMs);
    waiting.add(enter);
    return turn.promise;
  }

  /** Passes a slot to the next count in the queue. */
  leave(keyId: string): void {
    const counts = this.#keys.get(keyId)!;
    const [enter] = counts.waiting;
    if (enter) {
      counts.waiting.delete(enter);
      enter();
    } else if (--counts.underWay === 0) this.#keys.delete(keyId);
  }
}
