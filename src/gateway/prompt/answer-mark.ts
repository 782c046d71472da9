import type { StreamPart } from '../../contract/parts.ts';
import type { Turn } from '../../core/conversation.ts';

/**
 * A figure of an answer's text and the IDs of its calls, the same for any split of its parts. It holds no text. A caller
 * who finds two answers with one figure deceives only itself.
 */
export class AnswerMark {
  #text = 0;
  #calls = 0;

  /** Adds a part of the first choice, which stands for the answer. */
  add(part: StreamPart): void {
    if (!('choice' in part) || part.choice !== 0) return;
    if (part.type === 'text') this.#text = rolled(this.#text, part.text);
    else if (part.type === 'tool-call' && part.id !== undefined) this.#calls = rolled(this.#calls, part.id);
  }

  get value(): number {
    return markOf(this.#text, this.#calls);
  }
}

/** The mark of a turn that a caller sends back. */
export function markOfTurn({ parts }: Turn): number {
  let text = 0;
  let ids = 0;
  for (const part of parts) {
    if (part.type === 'text') text = rolled(text, part.text);
    else if (part.type === 'tool-call') ids = rolled(ids, part.id);
  }
  return markOf(text, ids);
}

/** Joins as much of two 32-bit figures as a double holds exactly. */
const markOf = (text: number, calls: number): number => (text >>> 0) * 0x100000 + ((calls >>> 0) & 0xfffff);

function rolled(figure: number, text: string): number {
  let next = figure;
  for (let at = 0; at < text.length; at++) next = (Math.imul(next, 0x01000193) + text.charCodeAt(at) + 1) | 0;
  return next;
}
