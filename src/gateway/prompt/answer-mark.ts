import type { StreamPart } from '../../contract/parts.ts';
import type { Turn } from '../../core/request/conversation.ts';

/**
 * A mark is a number computed from an answer's text and the IDs of its calls. It is the same however the answer is split into parts, and
 * contains no text. A caller who constructs two answers with the same mark deceives only itself.
 */
export class AnswerMark {
  #text = 0;
  #calls = 0;

  /** Adds a part of the first choice, which represents the answer. */
  add(part: StreamPart): void {
    if (!('choice' in part) || part.choice !== 0) return;
    if (part.type === 'text') this.#text = rolled(this.#text, part.text);
    else if (part.type === 'tool-call' && part.id !== undefined) this.#calls = rolled(this.#calls, part.id);
  }

  get value(): number {
    return markOf(this.#text, this.#calls);
  }
}

/** Returns the mark of a turn that a caller sends back. */
export function markOfTurn({ parts }: Turn): number {
  let text = 0;
  let ids = 0;
  for (const part of parts) {
    if (part.type === 'text') text = rolled(text, part.text);
    else if (part.type === 'tool-call') ids = rolled(ids, part.id);
  }
  return markOf(text, ids);
}

/** Joins as many bits of two 32-bit numbers as a double can store exactly. */
const markOf = (text: number, calls: number): number => (text >>> 0) * 0x100000 + ((calls >>> 0) & 0xfffff);

function rolled(figure: number, text: string): number {
  let next = figure;
  for (let at = 0; at < text.length; at++) next = (Math.imul(next, 0x01000193) + text.charCodeAt(at) + 1) | 0;
  return next;
}
