/** Counts of prompts by services that a key may have under way. They cost nothing, and each sends a whole prompt. */
const COUNTS_MAX = 4;

/** The counts of one key. */
interface KeyCounts {
  underWay: number;
  /** Those that wait for a place, the first in front. */
  readonly waiting: Set<() => void>;
}

/** The places of counts by services, so many for each key. State: count places. */
export class CountPlaces {
  readonly #keys = new Map<string, KeyCounts>();

  /**
   * Takes a place of a key, once one is free. Each place that was taken is left by `leave`.
   * @returns false where none came free in time
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

  /** Leaves a place to the next in line. */
  leave(keyId: string): void {
    const counts = this.#keys.get(keyId)!;
    const [enter] = counts.waiting;
    if (enter) {
      counts.waiting.delete(enter);
      enter();
    } else if (--counts.underWay === 0) this.#keys.delete(keyId);
  }
}
