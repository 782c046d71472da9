/** The most stop sequences of a request, and the most characters of one stop sequence. */
export const STOPS_MAX = 16;
export const STOP_CHARS_MAX = 256;

/** The result of reading one piece of a text. */
interface StopReading {
  /** The state to continue with for the next piece; meaningless once a stop was found. */
  readonly place: number;
  /** The stop sequence that is complete first; null for none. */
  readonly stop: string | null;
  /** The index in the piece that follows the last character of the stop. */
  readonly end: number;
}

/** The start state: no stop sequence has begun. */
export const NO_STOP_BEGUN = 0;

/**
 * Finds the first of several stop sequences in a text that arrives in pieces, in time proportional to the text, with the automaton of Aho
 * and Corasick, "Efficient string matching" (1975). `StopSearch` finds the stop that is complete first. If several stops are complete at
 * the same character, `StopSearch` finds the longest.
 *
 * An automaton does not change once it is built, so all texts share it. The state of a text (its `place`) is the longest suffix that begins
 * a stop. Each state of the automaton takes 12 bytes: 16 stops of 256 characters take 49 kB.
 */
export class StopSearch {
  readonly #stops: readonly string[];
  #places = 1;
  /** For each state: its last character, its length in characters, and the index of a stop that begins with it. */
  readonly #unit: Uint16Array;
  readonly #depth: Uint16Array;
  readonly #owner: Uint8Array;
  /** For each state: the first state that is one character longer, and the next state with the same prefix and length; 0 for none. */
  readonly #child: Uint16Array;
  readonly #sibling: Uint16Array;
  /** For each state: the state of its longest proper suffix that also begins a stop. */
  readonly #fallback: Uint16Array;
  /** For each state: the longest stop that ends there, counted from 1; 0 for none. */
  readonly #found: Uint8Array;

  /** @param stops the stop sequences, none of them empty; at most `STOPS_MAX`, each of at most `STOP_CHARS_MAX` characters */
  constructor(stops: readonly string[]) {
    const most = stops.reduce((sum, { length }) => sum + length, 1);
    this.#stops = stops;
    this.#unit = new Uint16Array(most);
    this.#depth = new Uint16Array(most);
    this.#owner = new Uint8Array(most);
    this.#child = new Uint16Array(most);
    this.#sibling = new Uint16Array(most);
    this.#fallback = new Uint16Array(most);
    this.#found = new Uint8Array(most);
    for (let at = 0; at < stops.length; at++) this.#add(at, stops[at]!);
    this.#link();
  }

  /** Reads the next piece of a text in search of stop sequences. */
  read(place: number, piece: string): StopReading {
    let here = place;
    for (let at = 0; at < piece.length; at++) {
      here = this.#after(here, piece.charCodeAt(at));
      const found = this.#found[here]!;
      if (found > 0) return { place: here, stop: this.#stops[found - 1]!, end: at + 1 };
    }
    return { place: here, stop: null, end: piece.length };
  }

  /** Returns the end of the text so far that may still become a stop. */
  begun(place: number): string {
    return place === NO_STOP_BEGUN ? '' : this.#stops[this.#owner[place]!]!.slice(0, this.#depth[place]);
  }

  #add(index: number, stop: string): void {
    let place = NO_STOP_BEGUN;
    for (let at = 0; at < stop.length; at++) {
      const unit = stop.charCodeAt(at);
      place = this.#childOf(place, unit) || this.#grow(place, unit, index);
    }
    this.#found[place] = index + 1;
  }

  #grow(place: number, unit: number, owner: number): number {
    const next = this.#places++;
    this.#unit[next] = unit;
    this.#depth[next] = this.#depth[place]! + 1;
    this.#owner[next] = owner;
    this.#sibling[next] = this.#child[place]!;
    this.#child[place] = next;
    return next;
  }

  /** Links short states first, because a fallback is always shorter than its state. */
  #link(): void {
    const queue = new Uint16Array(this.#places);
    for (let at = 0, end = 1; at < end; at++) {
      const place = queue[at]!;
      for (let next = this.#child[place]!; next > 0; next = this.#sibling[next]!) {
        if (place !== NO_STOP_BEGUN) this.#fallback[next] = this.#after(this.#fallback[place]!, this.#unit[next]!);
        this.#found[next] ||= this.#found[this.#fallback[next]!]!;
        queue[end++] = next;
      }
    }
  }

  /** Returns the next state of the automaton; 0 for none. */
  #childOf(place: number, unit: number): number {
    let child = this.#child[place]!;
    while (child > 0 && this.#unit[child] !== unit) child = this.#sibling[child]!;
    return child;
  }

  #after(from: number, unit: number): number {
    for (let place = from; ; place = this.#fallback[place]!) {
      const next = this.#childOf(place, unit);
      if (next > 0 || place === NO_STOP_BEGUN) return next;
    }
  }
}
