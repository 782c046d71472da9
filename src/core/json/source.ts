import { isObject } from './object.ts';
import type { Members } from './original.ts';
import { isShared, SharedValues } from './shared-values.ts';

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

/** Gives a changed copy of a body the source of the body, because the values that did not change have the same identity in the copy. */
export function keepSource<Copy>(body: unknown, copy: Copy): Copy {
  if (copy === body || !isObject(body) || !isObject(copy)) return copy;
  const source = sources.get(body);
  if (source !== undefined) sources.set(copy, source);
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
 * sent, if they are known: the text then has the caller's own white space, escapes and digits.
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
    if (name === source.list && Array.isArray(value)) {
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

/** The JSON texts of translated messages that several requests share, each with a comma before it. */
const knownTexts = new SharedValues<object, Uint8Array>();
const encoder = new TextEncoder();

function addMessage(message: unknown, isFirst: boolean, writer: Pieces): void {
  if (!isObject(message) || !isShared(message)) {
    writer.text(`${isFirst ? '' : ','}${JSON.stringify(message) ?? 'null'}`);
    return;
  }
  const known = knownTexts.get(message) ?? knownTexts.set(message, encoder.encode(`,${JSON.stringify(message)}`));
  writer.bytes(isFirst ? known.subarray(1) : known);
}

/** How many messages the search for the next unchanged message may skip, because an adapter left them out. */
const SKIPPED_MAX = 2;

function writeMessages(list: readonly unknown[], source: BodySource, writer: Pieces): void {
  const { bytes, messages, starts, ends } = source;
  writer.text('[');
  /** The next message of the source. */
  let next = 0;
  for (let at = 0; at < list.length; ) {
    const isFirst = at === 0;
    const from = findFrom(list[at], next, source);
    if (from < 0) {
      addMessage(list[at], isFirst, writer);
      at++;
      next++;
      continue;
    }
    let to = from;
    while (at < list.length && list[at] === messages[to] && source.isClean[to]) {
      at++;
      to++;
    }
    // The bytes between two messages are a comma and white space.
    if (!isFirst && from === 0) writer.text(',');
    writer.bytes(bytes.subarray(isFirst || from === 0 ? starts[from] : ends[from - 1], ends[to - 1]));
    next = to;
  }
  writer.text(']');
}

/** Returns the index of a message in the source if it may be copied; otherwise -1. */
function findFrom(message: unknown, next: number, { messages, isClean }: BodySource): number {
  const last = Math.min(messages.length - 1, next + SKIPPED_MAX);
  for (let at = next; at <= last; at++) if (messages[at] === message) return isClean[at] ? at : -1;
  return -1;
}
