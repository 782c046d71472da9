import { isObject, type Json } from '../json.ts';
import type { Notes } from '../notes.ts';

/** A content block of a request. */
export type Block = Json;

/** A cache breakpoint that lasts five minutes. */
const MARK = { type: 'ephemeral' } as const;
const HOUR_MARK = { type: 'ephemeral', ttl: '1h' } as const;
/** The maximum number of breakpoints of one request. */
const MARKS_MAX = 4;

/** Sets the breakpoints of the prompt cache. Call the methods of `CacheMarks` in the order of the API: tools, system, messages. */
export class CacheMarks {
  readonly #notes: Notes;
  #count = 0;

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** Whether the caller set a cache breakpoint. */
  get setByCaller(): boolean {
    return this.#count > 0;
  }

  /**
   * Copies the mark of the block's owner, which is a part, message, tool or the request. The path of the request itself is the empty text.
   */
  keep<T extends Block>(block: T, owner: Json, path: string): T {
    const requested = owner.cache_control;
    if (!isObject(requested) || block.cache_control !== undefined) return block;
    const field = path === '' ? 'cache_control' : `${path}.cache_control`;
    if (this.#count === MARKS_MAX) {
      this.#notes.drop(field);
      return block;
    }
    this.#count++;
    // The hold of a request covers a cache write for an hour, in whichever dialect the caller requests it.
    return { ...block, cache_control: requested.ttl === '1h' ? HOUR_MARK : MARK };
  }
}

export function addMark<T extends Block>(block: T): T {
  return { ...block, cache_control: MARK };
}

/** Returns the list with its last element marked. */
export function markLast(blocks: readonly Block[]): readonly Block[] {
  return blocks.map((block, at) => (at === blocks.length - 1 ? addMark(block) : block));
}
