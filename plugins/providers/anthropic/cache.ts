import { isObject, type Json } from '../json.ts';
import type { Notes } from '../notes.ts';

/** A block of a request. */
export type Block = Json;

/** Cached up to here, for five minutes. */
const MARK = { type: 'ephemeral' } as const;
/** Breakpoints of one request at most. */
const MARKS_MAX = 4;

/** Puts the breakpoints of the prompt cache. To be asked in the API's order: tools, system, messages. */
export class CacheMarks {
  readonly #notes: Notes;
  #count = 0;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** True where the caller says what to cache. */
  get byCaller(): boolean {
    return this.#count > 0;
  }

  /** The block with the mark of what it was made of: a part, a message, a tool, or the request, whose path is empty. */
  keep<T extends Block>(block: T, owner: Json, path: string): T {
    const asked = owner.cache_control;
    if (!isObject(asked) || block.cache_control !== undefined) return block;
    const field = path === '' ? 'cache_control' : `${path}.cache_control`;
    if (this.#count === MARKS_MAX) {
      this.#notes.drop(field);
      return block;
    }
    this.#count++;
    // An hour is written at another price than the one that the catalog has.
    if (asked.ttl === '1h') this.#notes.drop(`${field}.ttl`);
    return marked(block);
  }
}

export function marked<T extends Block>(block: T): T {
  return { ...block, cache_control: MARK };
}

/** The same list, its last element marked. */
export function lastMarked(blocks: readonly Block[]): readonly Block[] {
  return blocks.map((block, at) => (at === blocks.length - 1 ? marked(block) : block));
}
