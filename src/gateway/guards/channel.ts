import type { GuardTextKind } from '../../contract/guard.ts';
import { GatheredText } from '../../core/text/gathered-text.ts';

/** A new text for a place in the text of a channel. */
export interface ChannelEdit {
  readonly from: number;
  readonly to: number;
  readonly value: string;
}

export type ChannelType = 'text' | 'refusal' | 'reasoning' | 'tool-call' | 'name' | 'state' | 'unread';

/** How many characters before the shown end stay available. */
export const RECENT = 512;
/** So many edits are kept before those of the shown text are forgotten, so that an edit costs little. */
const EDITS_MIN = 64;

/** One text of an answer, which arrives in pieces: the text of a choice, or the arguments of one call. */
export class Channel {
  readonly type: ChannelType;
  readonly choice: number;
  /** Whether the text is JSON, whose values are inspected when it is complete. */
  readonly isJson: boolean;
  /** The end of the text that may be shown, with the edits before it. */
  safeTo = 0;
  /** The end of the text that was shown. */
  shownTo = 0;
  /** The edits in order, without overlap. */
  edits: ChannelEdit[] = [];
  length = 0;
  /** The whole text; null if only its end is kept. */
  readonly #whole: GatheredText | null;
  /** The end of the text. */
  #recent = '';
  #recentFrom = 0;
  /** Whether the text is complete, and may be shown with its edits. */
  isOver = false;
  /** Whether the text must not change: names, signed thoughts, and members that no part contains. */
  isFixed: boolean;
  /** The name of the called tool; empty for other channels. */
  tool = '';

  constructor(type: ChannelType, choice: number, { isWhole = true, isJson = type === 'tool-call' } = {}) {
    this.type = type;
    this.choice = choice;
    this.isJson = isJson;
    this.isFixed = type === 'name' || type === 'state' || type === 'unread';
    this.#whole = isWhole ? new GatheredText() : null;
  }

  /** Whether the whole text is kept. */
  get isWhole(): boolean {
    return this.#whole !== null;
  }

  /** The whole text so far, of a channel that keeps it. */
  get text(): string {
    if (this.#whole === null) throw new Error('the text of the channel was not kept');
    return this.#whole.value;
  }

  append(text: string): void {
    if (this.#whole) this.#whole.add(text);
    else this.#recent += text;
    this.length += text.length;
  }

  /** Returns the text from an offset on. @param from at most `RECENT` characters before `safeTo` */
  textFrom(from: number): string {
    return this.#whole ? this.#whole.value.slice(from) : this.#recent.slice(from - this.#recentFrom);
  }

  /** Forgets the text and the edits that were shown and that decide about no later text. */
  forget(): void {
    const least = Math.min(this.safeTo, this.length) - RECENT;
    if (!this.#whole && least - this.#recentFrom > RECENT) {
      this.#recent = this.#recent.slice(least - this.#recentFrom);
      this.#recentFrom = least;
    }
    if (this.edits.length > EDITS_MIN) this.edits.splice(0, firstEdit(this, Math.min(least, this.shownTo)));
  }

  get kind(): GuardTextKind {
    if (this.type === 'tool-call') return 'tool_arguments';
    if (this.type === 'state') return 'reasoning';
    if (this.type === 'unread') return 'other';
    return this.type === 'refusal' ? 'text' : this.type;
  }
}

/** Returns the index of the first edit that ends after an offset. */
export function firstEdit({ edits }: Channel, offset: number): number {
  let [low, high] = [0, edits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edits[middle]!.to <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
