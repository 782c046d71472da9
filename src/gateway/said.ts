import type { StreamPart } from '../contract/parts.ts';
import type { Turn } from '../core/conversation.ts';

/**
 * Tells one answer from another by its text and the IDs of its calls, in whatever pieces they came: a figure instead of
 * the words. Whoever wants to can find two answers with one figure, and deceives nobody but himself.
 */
export class Said {
  #text = 0;
  #calls = 0;

  /** The first choice stands for the answer. */
  hear(part: StreamPart): void {
    if (!('choice' in part) || part.choice !== 0) return;
    if (part.type === 'text') this.#text = rolled(this.#text, part.text);
    else if (part.type === 'tool-call' && part.id !== undefined) this.#calls = rolled(this.#calls, part.id);
  }

  get mark(): number {
    return markOf(this.#text, this.#calls);
  }
}

/** The same of a turn that a caller gives back. */
export function markOfTurn({ parts }: Turn): number {
  let text = 0;
  let ids = 0;
  for (const part of parts) {
    if (part.type === 'text') text = rolled(text, part.text);
    else if (part.type === 'tool-call') ids = rolled(ids, part.id);
  }
  return markOf(text, ids);
}

/** Of two figures of 32 bits, all that a double holds exactly. */
const markOf = (text: number, calls: number): number => (text >>> 0) * 0x100000 + ((calls >>> 0) & 0xfffff);

function rolled(figure: number, text: string): number {
  let next = figure;
  for (let at = 0; at < text.length; at++) next = (Math.imul(next, 0x01000193) + text.charCodeAt(at) + 1) | 0;
  return next;
}
