import type { Members, StreamPart } from 'signalbox/plugin';
import { isObject, type Json, listOf, textOf } from '../json.ts';
import { malformed } from '../parts.ts';
import { detailsOf, type Format, summariesOf } from './reasoning.ts';

/** Items of one answer at most. */
const ITEMS_MAX = 512;
/** Of what an answer has its caller keep, entries and their characters at most: all of it waits here for the answer's end. */
const DETAILS_MAX = 524_288;
const DETAIL_CHARS_MAX = 8_388_608;

type Words = 'text' | 'refusal' | 'reasoning';

interface Item {
  /** Which call of the answer it is; undefined for none. */
  readonly call?: number;
  /** Something of it was told. */
  isTold: boolean;
  hasEnded?: true;
}

/** Reads the output of one answer, item by item: a whole item is read like one that begins and ends. */
export class ItemReader {
  readonly #format: Format;
  readonly #items = new Map<number, Item>();
  /** Where the last words of each kind stood. */
  readonly #places = new Map<Words, string>();
  readonly #details: Members[] = [];
  #detailChars = 0;
  #calls = 0;

  constructor(format: Format) {
    this.#format = format;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** For the caller to keep. */
  get details(): readonly Members[] {
    return this.#details;
  }

  /** `at` is the item's place in the answer. */
  begin(at: number, item: unknown, parts: StreamPart[]): void {
    if (!isObject(item) || this.#items.has(at)) return;
    if (this.#items.size >= ITEMS_MAX) parts.push(malformed('the answer has too many items'));
    else if (item.type === 'function_call') this.#call(at, item, parts);
    else this.#items.set(at, { isTold: false });
  }

  /** Adds a piece of what is said. `section`: what is said in one go; a new one is a new paragraph. */
  say(type: Words, at: number, section: unknown, piece: unknown, parts: StreamPart[]): void {
    const text = textOf(piece);
    if (text === '') return;
    this.#told(at);
    const place = `${at}.${String(section)}`;
    const last = this.#places.get(type) ?? place;
    this.#places.set(type, place);
    parts.push({ type, choice: 0, text: last === place ? text : `\n\n${text}` });
  }

  /** Adds a piece of a call's arguments. */
  feed(at: number, piece: unknown, parts: StreamPart[]): void {
    const index = this.#items.get(at)?.call;
    const text = textOf(piece);
    if (index === undefined || text === '') return;
    this.#told(at);
    parts.push({ type: 'tool-call', choice: 0, index, arguments: text });
  }

  end(at: number, item: unknown, parts: StreamPart[]): void {
    if (!isObject(item)) return;
    this.begin(at, item, parts);
    const known = this.#items.get(at);
    // Who ends it again would have it said, or kept, again.
    if (!known || known.hasEnded) return;
    known.hasEnded = true;
    if (!known.isTold) this.#whole(at, item, parts);
    if (item.type === 'reasoning') this.#keep(at, item, parts);
  }

  #keep(at: number, item: Json, parts: StreamPart[]): void {
    const summaries = summariesOf(item);
    for (const text of [textOf(item.encrypted_content), ...summaries]) this.#detailChars += text.length;
    if (this.#details.length + summaries.length >= DETAILS_MAX || this.#detailChars > DETAIL_CHARS_MAX) {
      parts.push(malformed('the reasoning to be kept is too long'));
      return;
    }
    for (const detail of detailsOf(item, at, this.#format)) this.#details.push(detail);
  }

  #told(at: number): void {
    const item = this.#items.get(at);
    if (item) item.isTold = true;
  }

  #call(at: number, item: Json, parts: StreamPart[]): void {
    const name = textOf(item.name);
    const index = this.#calls++;
    this.#items.set(at, { call: index, isTold: false });
    if (name === '') parts.push(malformed('a tool call has no name'));
    else {
      const id = textOf(item.call_id) || `call_0_${index}`;
      parts.push({ type: 'tool-call', choice: 0, index, id, name, arguments: '' });
    }
  }

  /** What no piece has told of. */
  #whole(at: number, item: Json, parts: StreamPart[]): void {
    this.feed(at, item.arguments, parts);
    for (const [section, text] of summariesOf(item).entries()) this.say('reasoning', at, section, text, parts);
    if (item.type !== 'message') return;
    for (const part of listOf(item.content)) {
      if (!isObject(part)) continue;
      this.say('text', at, '', part.text, parts);
      this.say('refusal', at, '', part.refusal, parts);
    }
  }
}
