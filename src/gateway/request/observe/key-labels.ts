import type { Caller } from '../../../core/caller.ts';
import { OTHER } from '../../../host/telemetry/counts.ts';

/** Values that are told apart; the rest share one. */
const VALUES_MAX = 200;
/** Pairs of a lane and a value that are told apart, so that many models with many values stay bounded. */
export const PAIRS_MAX = 4_000;

/**
 * The values of the label of keys that the policy in force chooses. They are those of keys, which operators make; nothing that a
 * caller sends is one. State: metrics.
 */
export class KeyLabels {
  readonly #nameOf: () => string | null;
  readonly #known = new Set<string>();
  #pairs = 0;

  /** @param nameOf returns the name of the label; null while the policy chooses none */
  constructor(nameOf: () => string | null) {
    this.#nameOf = nameOf;
  }

  /** Returns the value for a caller; empty where the policy chooses no label, and for a key without it. */
  of(caller: Caller | null): string {
    const name = this.#nameOf();
    if (name === null || caller === null || !Object.hasOwn(caller.labels, name)) return '';
    const value = caller.labels[name]!;
    if (this.#known.has(value)) return value;
    if (this.#known.size >= VALUES_MAX) return OTHER;
    this.#known.add(value);
    return value;
  }

  /** Whether one more pair of a lane and a value may be told apart. If so, counts it. */
  hasRoom(): boolean {
    if (this.#pairs >= PAIRS_MAX) return false;
    this.#pairs++;
    return true;
  }
}
