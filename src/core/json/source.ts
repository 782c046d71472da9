import { ListTotal, memoryOf } from './list-memory.ts';
import type { LongNumbers } from './long-numbers.ts';
import { isObject } from './object.ts';
import type { Members } from './original.ts';

/** The bytes of a request body, as the caller sent them, with the location of the values that may be sent on as they are. */
export interface BodySource {
  readonly bytes: Uint8Array;
  /** The member with the list of messages. */
  readonly list: string;
  /** The messages. A message has the same identity in the body. */
  readonly messages: readonly unknown[];
  /** Where each message begins and ends. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Whether each message was read completely: no object in it has two members with the same name. */
  readonly isClean: readonly boolean[];
  /** Other members that were read completely, by name. */
  readonly members: ReadonlyMap<string, { readonly value: unknown; readonly from: number; readonly to: number }>;
  /** Counts bytes of memory, which may be negative, for something that is kept with a part of the body from now on. */
  readonly grow?: (bytes: number) => void;
}

/** The sources of bodies. A body without a source was not read from bytes. */
const sources = new WeakMap<object, BodySource>();

export const sourceOf = (body: object): BodySource | undefined => sources.get(body);

export const setSource = (body: object, source: BodySource): void => {
  sources.set(body, source);
};

/** The long numbers of bodies that guards inspect. */
const longNumbers = new WeakMap<object, LongNumbers>();

export const numbersOf = (body: object): LongNumbers | null => longNumbers.get(body) ?? null;

export const setNumbers = (body: object, numbers: LongNumbers): void => {
  longNumbers.set(body, numbers);
};

/**
 * Gives a changed copy of a body the source and the long numbers of the body, because the values that did not change have the same identity
 * and location in the copy.
 */
export function keepSource<Copy>(body: unknown, copy: Copy): Copy {
  if (copy === body || !isObject(body) || !isObject(copy)) return copy;
  const source = sources.get(body);
  if (source !== undefined) sources.set(copy, source);
  const numbers = longNumbers.get(body);
  if (numbers !== undefined) longNumbers.set(copy, numbers);
  return copy;
}

/** A JSON text in UTF-8: a string, or pieces that together are the text. */
export type JsonText = string | readonly (string | Uint8Array)[];

/** A JSON text in the form in which an adapter returns it: `body` is empty if there are `pieces`. */
interface WrittenJson {
  readonly body: string;
  readonly pieces?: readonly (string | Uint8Array)[];
}

/** Returns a written text as one string. */
export const writtenText = ({ body, pieces }: WrittenJson): string =>
  pieces === undefined
    ? body
    : pieces.map((piece) => (typeof piece === 'string' ? piece : decoder.decode(piece))).join('');

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Writes a body as JSON. Messages and other members that are the same values as in `original` are copied from the bytes that the caller
 * sent, if they are known: the text then has the caller's own white space, escapes and digits. The written text of translated messages is
 * kept for the next turn of their conversation.
 */
export function writeJson(body: Members, original: Members): WrittenJson {
  const source = sources.get(original);
  if (source === undefined) return { body: JSON.stringify(body) };
  const writer = new Pieces();
  let mark = '{';
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === undefined) continue;
    const before = `${mark}${JSON.stringify(name)}:`;
    mark = ',';
    const known = source.members.get(name);
    if (Array.isArray(value) && (name === source.list || memoryOf(value) !== undefined)) {
      writer.text(before);
      writeMessages(value, source, writer);
    } else if (known !== undefined && known.value === value) {
      writer.text(before);
      writer.bytes(source.bytes.subarray(known.from, known.to));
    } else writer.text(before + JSON.stringify(value));
  }
  writer.text(mark === '{' ? '{}' : '}');
  return { body: '', pieces: writer.pieces };
}

/** Collects pieces of text, and joins neighbouring strings. */
class Pieces {
  readonly pieces: (string | Uint8Array)[] = [];

  text(text: string): void {
    const last = this.pieces.at(-1);
    if (typeof last === 'string') this.pieces[this.pieces.length - 1] = last + text;
    else this.pieces.push(text);
  }

  bytes(bytes: Uint8Array): void {
    this.pieces.push(bytes);
  }
}

const encoder = new TextEncoder();

/** The JSON text of the first messages of a list, in UTF-8. */
class WrittenMessages {
  #bytes = new Uint8Array();
  #used = 0;
  /** The index of the next message in the source of the list. */
  #next = 0;
  /** The pieces after the bytes; null if more is added to the bytes. */
  #pieces: Uint8Array[] | null = null;

  /** Returns a text that begins with this text. Only this text may be added to the bytes. */
  continued(): WrittenMessages {
    const copy = new WrittenMessages();
    copy.#bytes = this.#bytes;
    copy.#used = this.#used;
    copy.#next = this.#next;
    copy.#pieces = [];
    return copy;
  }

  add(message: unknown, source: BodySource): void {
    const { bytes, starts, ends, isClean } = source;
    const known = findFrom(message, this.#next, source);
    this.#next = (known < 0 ? this.#next : known) + 1;
    if (this.#used > 0 || (this.#pieces?.length ?? 0) > 0) this.#write(COMMA);
    if (known >= 0 && isClean[known]) this.#write(bytes.subarray(starts[known], ends[known]));
    else this.#write(encoder.encode(JSON.stringify(message) ?? 'null'));
  }

  addTo(writer: Pieces): void {
    writer.bytes(this.#bytes.subarray(0, this.#used));
    for (const piece of this.#pieces ?? []) writer.bytes(piece);
  }

  #write(more: Uint8Array): void {
    if (this.#pieces !== null) {
      this.#pieces.push(more);
      return;
    }
    const used = this.#used + more.length;
    if (used > this.#bytes.length) {
      const larger = new Uint8Array(used + (used >> 1) + BYTES_MORE);
      larger.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = larger;
    }
    this.#bytes.set(more, this.#used);
    this.#used = used;
  }
}

const COMMA = encoder.encode(',');
const BYTES_MORE = 4_096;

const writtenLists = new ListTotal<unknown, WrittenMessages>(
  () => new WrittenMessages(),
  (written) => written.continued(),
);

/** How many messages the search for the next message may skip, because an adapter left them out. */
const SKIPPED_MAX = 2;

function writeMessages(list: readonly unknown[], source: BodySource, writer: Pieces): void {
  writer.text('[');
  const { bytes, starts, ends } = source;
  const from = list.length === 0 ? -1 : findFrom(list[0], 0, source);
  // The bytes between two messages are a comma and white space.
  if (from >= 0 && isRun(list, from, source)) writer.bytes(bytes.subarray(starts[from], ends[from + list.length - 1]));
  else if (list.length > 0) {
    writtenLists
      .of(list, (written, message) => {
        written.add(message, source);
        return written;
      })
      .addTo(writer);
  }
  writer.text(']');
}

/** Whether a list consists of messages that follow each other in the source and may be copied. */
function isRun(list: readonly unknown[], from: number, { messages, isClean }: BodySource): boolean {
  for (let at = 0; at < list.length; at++) if (list[at] !== messages[from + at] || !isClean[from + at]) return false;
  return true;
}

/** Returns the index of a message in the source; -1 if it is none of the next messages. */
function findFrom(message: unknown, next: number, { messages }: BodySource): number {
  const last = Math.min(messages.length - 1, next + SKIPPED_MAX);
  for (let at = next; at <= last; at++) if (messages[at] === message) return at;
  return -1;
}
