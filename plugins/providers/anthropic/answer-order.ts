import { type ContentPart, pathText, type ToolCallPart, type Turn } from 'signalbox/plugin';
import type { Block } from './cache.ts';
import type { ToolUses } from './calls.ts';
import { type TranslationContext, textBlock } from './content.ts';

/** A part of an answer, with its position among all parts. */
interface PartPlace<Part extends ContentPart> {
  readonly part: Part;
  readonly place: number;
}
type TextPlace = PartPlace<Extract<ContentPart, { text: string }>>;

/**
 * Returns the texts and calls of an answer as blocks, up to the next thinking block. Callers of other dialects send all text first, so the
 * state of a thinking block records how many characters and calls preceded it.
 */
export class AnswerOrder {
  readonly #context: TranslationContext;
  readonly #texts: readonly TextPlace[];
  readonly #calls: readonly PartPlace<ToolCallPart>[];
  readonly #made: readonly Block[];
  #nextText = 0;
  #nextCall = 0;
  /** The number of characters returned so far: of all texts, and of the current text. */
  #chars = 0;
  #charsOfNext = 0;

  constructor(turn: Turn, calls: ToolUses, context: TranslationContext) {
    this.#context = context;
    const placed = turn.parts.map((part, place) => ({ part, place }));
    this.#texts = placed.flatMap(({ part, place }) => ('text' in part ? [{ part, place }] : []));
    this.#calls = placed.flatMap(({ part, place }) => (part.type === 'tool-call' ? [{ part, place }] : []));
    this.#made = calls.madeBy(turn);
  }

  /** @param chars of all texts, in UTF-16 code units @param calls of the answer */
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

  /** Returns the next text up to a length. The cache mark of a text goes to the end of the text. */
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
