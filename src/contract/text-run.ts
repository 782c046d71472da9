import type { StreamPart } from './parts.ts';

type TextPart = Extract<StreamPart, { type: 'text' }>;

/**
 * Events of a stream that directly follow each other and add nothing but text to one choice. A run is the text part of all its events, so
 * code that reads an answer need not know runs. Code that changes parts or passes them on uses `separateParts` first, because callers
 * receive an event for each event of the provider.
 */
export class TextRun implements TextPart {
  readonly type = 'text';
  readonly choice: number;
  readonly text: string;
  readonly #encoded: readonly string[];
  readonly #ends: readonly number[];

  /**
   * @param encoded the text of each event as in a JSON string, as `JSON.stringify` writes it
   * @param ends where each text ends in the text of the run
   */
  constructor(choice: number, encoded: readonly string[], ends: readonly number[]) {
    const joined = encoded.length === 1 ? encoded[0]! : encoded.join('');
    this.choice = choice;
    this.text = joined.length === ends.at(-1) ? joined : String(JSON.parse(`"${joined}"`));
    this.#encoded = encoded;
    this.#ends = ends;
  }

  /** Where the text of each event ends in the text of the run. */
  get ends(): readonly number[] {
    return this.#ends;
  }

  /** Returns the texts of the events as in JSON strings, with this separator between them. */
  encodedWith(separator: string): string {
    return this.#encoded.length === 1 ? this.#encoded[0]! : this.#encoded.join(separator);
  }

  /** Returns the part of each event. */
  parts(): readonly TextPart[] {
    const { choice, text } = this;
    return this.#ends.map((end, at) => ({ type: 'text', choice, text: text.slice(this.#ends[at - 1] ?? 0, end) }));
  }
}

/** Returns parts without runs: each part is from one event. */
export function separateParts(parts: readonly StreamPart[]): readonly StreamPart[] {
  return parts.some((part) => part instanceof TextRun)
    ? parts.flatMap((part) => (part instanceof TextRun ? part.parts() : part))
    : parts;
}
