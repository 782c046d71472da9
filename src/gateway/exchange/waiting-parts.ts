import type { StreamPart } from '../../contract/parts.ts';
import { GatheredText } from '../../core/text/gathered-text.ts';
import { batchLine, batchOf } from './replayed-answer.ts';

/**
 * Batches of parts that wait for a reader. A fast reader gets each batch unchanged. Batches that a slow reader has not read are stored as
 * text, because the parts of a batch are many small objects, which take ten times as much memory.
 */
export class WaitingParts {
  /** The batch to read next; null if the next line comes first. */
  #next: readonly StreamPart[] | null = null;
  /** The stored lines that are being read, from `#at` on, and the stored lines that follow. */
  #lines = '';
  #at = 0;
  #later = new GatheredText();
  #chars = 0;

  /** The number of characters that wait as text. */
  get chars(): number {
    return this.#chars;
  }

  get isEmpty(): boolean {
    return this.#next === null && this.#chars === 0;
  }

  add(batch: readonly StreamPart[]): void {
    if (this.isEmpty) {
      this.#next = batch;
      return;
    }
    const line = batchLine(batch);
    this.#later.add(line);
    this.#chars += line.length;
  }

  /** Returns the oldest batch that waits for the reader; null if no batch waits. */
  take(): readonly StreamPart[] | null {
    const next = this.#next;
    this.#next = null;
    return next ?? (this.#chars === 0 ? null : batchOf(this.#line()));
  }

  clear(): void {
    this.#next = null;
    this.#lines = '';
    this.#at = 0;
    this.#later = new GatheredText();
    this.#chars = 0;
  }

  #line(): string {
    if (this.#at === this.#lines.length) {
      this.#lines = this.#later.value;
      this.#later = new GatheredText();
      this.#at = 0;
    }
    const end = this.#lines.indexOf('\n', this.#at) + 1;
    const line = this.#lines.slice(this.#at, end);
    this.#at = end;
    this.#chars -= line.length;
    return line;
  }
}
