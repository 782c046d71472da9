import type { Caller } from '../../../core/people/caller.ts';
import { OTHER } from '../../../host/telemetry/counts.ts';

/** The most values with a series of their own; further values share one series. */
const VALUES_MAX = 200;
/** The most pairs of a lane and a value with a series of their own, so that many models with many values stay bounded. */
export const PAIRS_MAX = 4_000;

/**
 * The values of the key label that the active policy chooses. Operators set these values on keys; nothing that a caller sends becomes a
 * value. State: metrics.
 */
export class KeyLabels {
  readonly #nameOf: () => string | null;
  readonly #known = new Set<string>();
  #pairs = 0;

  /** @param nameOf returns the name of the label; null while the policy chooses none */
  constructor(nameOf: () => string | null) {
    this.#nameOf = nameOf;
  }

  /** Returns the value for a caller; empty if the policy chooses no label, and for a key without the label. */
  of(caller: Caller | null): string {
    const name = this.#nameOf();
    if (name === null || caller === null || !Object.hasOwn(caller.labels, name)) return '';
    const value = caller.labels[name]!;
    if (this.#known.has(value)) return value;
    if (this.#known.size >= VALUES_MAX) return OTHER;
    this.#known.add(value);
    return value;
  }

  /** Whether another pair of a lane and a value may have a series of its own. A pair that may have its own series is counted. */
  hasRoom(): boolean {
    if (this.#pairs >= PAIRS_MAX) return false;
    this.#pairs++;
    return true;
  }
}
