import { type ContentPart, pathText, type ToolCallPart, type Turn } from 'signalbox/plugin';
import type { Block } from './cache.ts';
import type { ToolUses } from './calls.ts';
import { type TranslationContext, textBlock } from './content.ts';

/** A part of an answer, with its place among all parts. */
interface PartPlace<Part extends ContentPart> {
  readonly part: Part;
  readonly place: number;
}
type TextPlace = PartPlace<Extract<ContentPart, { text: string }>>;

/**
 * Hands out the texts and calls of an answer as blocks, up to a thought that stood between them. Callers of other dialects
 * send all text first: a thought tells how much of it and how many calls stood before.
 */
export class AnswerOrder {
  readonly #context: TranslationContext;
  readonly #texts: readonly TextPlace[];
  readonly #calls: readonly PartPlace<ToolCallPart>[];
  readonly #made: readonly Block[];
  #nextText = 0;
  #nextCall = 0;
  /** Characters handed out: of all texts, and of the next one. */
  #chars = 0;
  #charsOfNext = 0;

  constructor(turn: Turn, calls: ToolUses, context: TranslationContext) {
    this.#context = context;
    const placed = turn.parts.map((part, place) => ({ part, place }));
    this.#texts = placed.flatMap(({ part, place }) => ('text' in part ? [{ part, place }] : []));
    this.#calls = placed.flatMap(({ part, place }) => (part.type === 'tool-call' ? [{ part, place }] : []));
    this.#made = calls.madeBy(turn);
  }

  /** @param chars of all texts, in UTF-16 units @param calls of the answer */
  until(chars: number, calls: number): Block[] {
    const taken: { readonly place: number; readonly block: Block }[] = [];
    while (this.#chars < chars && this.#nextText < this.#texts.length) {
      const { place } = this.#texts[this.#nextText]!;
      for (const block of this.#textUpTo(chars - this.#chars)) taken.push({ place, block });
    }
    for (; this.#nextCall < Math.min(calls, this.#calls.length); this.#nextCall++) {
      const { part, place } = this.#calls[this.#nextCall]!;
      const block = this.#context.marks.keep(this.#made[this.#nextCall]!, part.extras, pathText(part.at));
      taken.push({ place, block });
    }
    return taken.sort((a, b) => a.place - b.place).map(({ block }) => block);
  }

  /** Takes from the next text. A mark for the cache stands at its end. */
  #textUpTo(most: number): Block[] {
    const { part } = this.#texts[this.#nextText]!;
    const rest = part.text.slice(this.#charsOfNext);
    const piece = rest.slice(0, most);
    const isEnd = piece.length === rest.length;
    this.#chars += piece.length;
    this.#charsOfNext = isEnd ? 0 : this.#charsOfNext + piece.length;
    if (isEnd) this.#nextText++;
    const blocks = textBlock(piece);
    return isEnd ? blocks.map((block) => this.#context.marks.keep(block, part.extras, pathText(part.at))) : blocks;
  }
}
