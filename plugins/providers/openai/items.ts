import type { EventPlace, Members, OriginalPath, StreamPart } from 'signalbox/plugin';
import { isObject, type Json, listOf, objectOf, textOf } from '../json.ts';
import { malformed } from '../parts.ts';
import { detailsOf, type ReasoningFormat, summariesOf } from './reasoning.ts';

/** The maximum number of items in one answer. */
const ITEMS_MAX = 512;
/** The maximum number of entries and characters of `reasoning_details`, which are kept until the answer ends. */
const DETAILS_MAX = 524_288;
const DETAIL_CHARS_MAX = 8_388_608;

/** The text around the streamed input of a custom tool. */
const INPUT_HEAD = '{"input":"';
const INPUT_TAIL = '"}';

/** The locations of pieces in their events. */
const DELTA: EventPlace = { at: ['delta'] };
const ESCAPED: EventPlace = { at: ['delta'], isEscaped: true };
const ITEM: OriginalPath = ['item'];

type TextKind = 'text' | 'refusal' | 'reasoning';

interface ItemProgress {
  /** The index of the call; undefined for other items. */
  readonly call?: number;
  /** Whether pieces of the item were streamed. */
  isStreamed: boolean;
  hasEnded?: true;
}

/** Reads the output items of one answer. An unstreamed item is a begin followed by an end. */
export class ItemReader {
  readonly #format: ReasoningFormat;
  readonly #passes: boolean;
  readonly #items = new Map<number, ItemProgress>();
  /** For each kind, the position of its last text. */
  readonly #paragraphs = new Map<TextKind, string>();
  /** The position of the last piece of text, because most pieces continue the same text. */
  #last: { readonly type: TextKind; readonly at: number; readonly section: number } | null = null;
  readonly #details: Members[] = [];
  #detailChars = 0;
  #calls = 0;
  /** The number of web searches that OpenAI ran. OpenAI bills each search, but not the pages that the search opens. */
  searches = 0;

  /** @param passes whether the answer is also passed on unchanged; the parts then state their locations in the passed event */
  constructor(format: ReasoningFormat, passes: boolean) {
    this.#format = format;
    this.#passes = passes;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** The `reasoning_details` that the caller must keep. */
  get details(): readonly Members[] {
    return this.#details;
  }

  /** @param at the item's index in the answer */
  begin(at: number, item: unknown, parts: StreamPart[]): void {
    if (!isObject(item) || this.#items.has(at)) return;
    if (this.#items.size >= ITEMS_MAX) parts.push(malformed('the answer has too many items'));
    else if (item.type === 'function_call' || item.type === 'custom_tool_call') this.#call(at, item, parts);
    else this.#items.set(at, { isStreamed: false });
  }

  /** Adds a piece of text. @param section a new section starts a new paragraph */
  say(type: TextKind, at: number, section: number, piece: unknown, parts: StreamPart[], from = DELTA): void {
    const text = textOf(piece);
    if (text === '') return;
    const place = this.#passes ? from : undefined;
    if (this.#last?.type === type && this.#last.at === at && this.#last.section === section) {
      parts.push({ type, choice: 0, text, place });
      return;
    }
    this.#last = { type, at, section };
    this.#markStreamed(at);
    const paragraph = `${at}.${section}`;
    const gap = (this.#paragraphs.get(type) ?? paragraph) === paragraph ? '' : '\n\n';
    this.#paragraphs.set(type, paragraph);
    // The gap between paragraphs is not part of any event.
    if (place && gap !== '') parts.push({ type, choice: 0, text: gap });
    parts.push({ type, choice: 0, text: place ? text : gap + text, place });
  }

  /** Adds a piece of a custom tool's input, which in the neutral form is the only argument of a function. */
  feedInput(at: number, piece: unknown, parts: StreamPart[], from = ESCAPED): void {
    const text = textOf(piece);
    if (text === '') return;
    if (this.#items.get(at)?.isStreamed === false) this.feed(at, INPUT_HEAD, parts, null);
    this.feed(at, JSON.stringify(text).slice(1, -1), parts, from);
  }

  /** Adds a piece of a call's arguments. @param from the location of the piece in its event; null for none */
  feed(at: number, piece: unknown, parts: StreamPart[], from: EventPlace | null = DELTA): void {
    const index = this.#items.get(at)?.call;
    const text = textOf(piece);
    if (index === undefined || text === '') return;
    this.#markStreamed(at);
    const place = this.#passes && from ? from : undefined;
    parts.push({ type: 'tool-call', choice: 0, index, arguments: text, place });
  }

  /** @param from the location of the item in its event */
  end(at: number, item: unknown, parts: StreamPart[], from = ITEM): void {
    if (!isObject(item)) return;
    this.begin(at, item, parts);
    const progress = this.#items.get(at);
    // If the end of an item is repeated, its content must not be repeated.
    if (!progress || progress.hasEnded) return;
    progress.hasEnded = true;
    if (item.type === 'web_search_call' && (textOf(objectOf(item.action).type) || 'search') === 'search')
      this.searches++;
    const wasStreamed = progress.isStreamed;
    if (!wasStreamed) this.#whole(at, item, parts, from);
    if (item.type === 'custom_tool_call')
      this.feed(at, progress.isStreamed ? INPUT_TAIL : INPUT_HEAD + INPUT_TAIL, parts, null);
    if (item.type === 'reasoning') this.#keep(at, item, parts);
  }

  #keep(at: number, item: Json, parts: StreamPart[]): void {
    const summaries = summariesOf(item);
    for (const text of [textOf(item.encrypted_content), ...summaries]) this.#detailChars += text.length;
    if (this.#details.length + summaries.length >= DETAILS_MAX || this.#detailChars > DETAIL_CHARS_MAX) {
      parts.push(malformed('the reasoning that must be kept is too long'));
      return;
    }
    for (const detail of detailsOf(item, at, this.#format)) this.#details.push(detail);
  }

  #markStreamed(at: number): void {
    const item = this.#items.get(at);
    if (item) item.isStreamed = true;
  }

  #call(at: number, item: Json, parts: StreamPart[]): void {
    const name = textOf(item.name);
    const index = this.#calls++;
    this.#items.set(at, { call: index, isStreamed: false });
    if (name === '') parts.push(malformed('a tool call has no name'));
    else {
      const id = textOf(item.call_id) || `call_0_${index}`;
      parts.push({ type: 'tool-call', choice: 0, index, id, name, arguments: '' });
    }
  }

  /** Reads an item that was not streamed. */
  #whole(at: number, item: Json, parts: StreamPart[], from: OriginalPath): void {
    this.feed(at, item.arguments, parts, { at: [...from, 'arguments'] });
    if (item.type === 'custom_tool_call')
      this.feedInput(at, item.input, parts, { at: [...from, 'input'], isEscaped: true });
    if (item.type !== 'message') {
      for (const [section, text] of summariesOf(item).entries())
        this.say('reasoning', at, section, text, parts, { at: [...from, 'summary', section, 'text'] });
      return;
    }
    for (const [index, part] of listOf(item.content).entries()) {
      if (!isObject(part)) continue;
      this.say('text', at, 0, part.text, parts, { at: [...from, 'content', index, 'text'] });
      this.say('refusal', at, 0, part.refusal, parts, { at: [...from, 'content', index, 'refusal'] });
    }
  }
}
