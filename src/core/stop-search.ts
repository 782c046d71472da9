/** The most stops of a request, and the most characters of one. */
export const STOPS_MAX = 16;
export const STOP_CHARS_MAX = 256;

/** A place of the automaton: the longest end of the text so far that begins a stop. */
interface Place {
  readonly next: Map<number, Place>;
  /** Characters of that beginning. */
  readonly depth: number;
  /** The place of its longest proper end that also begins a stop; null for the root. */
  fallback: Place | null;
  /** The longest stop that ends here; null for none. */
  stop: string | null;
}

/** The stop that was found. */
export interface StopMatch {
  readonly stop: string;
  /** The index behind its last character, in the text given last. */
  readonly end: number;
}

const placeAt = (depth: number): Place => ({ next: new Map(), depth, fallback: null, stop: null });

/**
 * Finds the first of several stops in a text that comes in pieces, in time that grows with the text alone: the automaton of
 * Aho and Corasick, "Efficient string matching" (1975). The stop that is complete first is found; of those that are complete at
 * the same character, the longest.
 */
export class StopSearch {
  readonly #root = placeAt(0);
  #place: Place = this.#root;

  /** @param stops none of them empty */
  constructor(stops: readonly string[]) {
    for (const stop of stops) this.#add(stop);
    this.#link();
  }

  /** Characters at the end of the text so far that may still become a stop. */
  get pending(): number {
    return this.#place.depth;
  }

  /** Reads the next piece. @returns the stop that is complete first; null where none is */
  find(text: string): StopMatch | null {
    for (let at = 0; at < text.length; at++) {
      this.#place = this.#after(this.#place, text.charCodeAt(at));
      if (this.#place.stop !== null) return { stop: this.#place.stop, end: at + 1 };
    }
    return null;
  }

  /** Begins a new text. */
  restart(): void {
    this.#place = this.#root;
  }

  #add(stop: string): void {
    let place = this.#root;
    for (let at = 0; at < stop.length; at++) {
      const unit = stop.charCodeAt(at);
      let next = place.next.get(unit);
      if (!next) {
        next = placeAt(place.depth + 1);
        place.next.set(unit, next);
      }
      place = next;
    }
    place.stop = stop;
  }

  /** Shallow places first: a fallback is always shallower. */
  #link(): void {
    const queue = [this.#root];
    for (const place of queue) {
      for (const [unit, next] of place.next) {
        next.fallback = place.fallback ? this.#after(place.fallback, unit) : this.#root;
        next.stop ??= next.fallback.stop;
        queue.push(next);
      }
    }
  }

  #after(from: Place, unit: number): Place {
    for (let place: Place | null = from; place !== null; place = place.fallback) {
      const next = place.next.get(unit);
      if (next) return next;
    }
    return this.#root;
  }
}
