import type { StreamPart } from './parts.ts';

type TextPart = Extract<StreamPart, { type: 'text' }>;

/**
 * Events of a stream that directly follow each other and add nothing but text to one choice. A run is the text part of all its events, so
 * code that reads an answer needs not know runs. Code that changes parts or passes them on uses `separateParts` first, because callers
 * receive an event for each event of the provider.
 */
export class TextRun implements TextPart {
  readonly type = 'text';
  readonly choice: number;
  readonly text: string;
  readonly #ends: readonly number[];
  readonly #encoded: string;
  readonly #separator: string;

  /**
   * @param encoded the texts as in JSON strings, with all that is between them. Each text is written as `JSON.stringify` writes it
   * @param separator the text between them, which begins with the quote that ends a JSON string
   * @param ends where each text ends in the text of the run
   * @param hasEscapes whether a text has an escape
   */
  constructor(choice: number, encoded: string, separator: string, ends: readonly number[], hasEscapes: boolean) {
    const joined = ends.length === 1 ? encoded : encoded.replaceAll(separator, '');
    this.choice = choice;
    this.text = hasEscapes ? String(JSON.parse(`"${joined}"`)) : joined;
    this.#ends = ends;
    this.#encoded = encoded;
    this.#separator = separator;
  }

  /** Where the text of each event ends in the text of the run. */
  get ends(): readonly number[] {
    return this.#ends;
  }

  /** Returns the texts of the events as in JSON strings, with this separator between them. */
  encodedWith(separator: string): string {
    return this.#ends.length === 1 ? this.#encoded : this.#encoded.split(this.#separator).join(separator);
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
