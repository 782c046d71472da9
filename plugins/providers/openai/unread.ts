import type { StreamPart, UnreadOutput } from 'signalbox/plugin';
import { isObject, type Json, listOf, textOf } from '../json.ts';
import { areShown, OutputFound } from '../unread.ts';

/** Events with a further piece of an item. Events without a further piece repeat the item or a part of it. */
const PIECE = /\.delta$|\.annotation\.added$|\.partial_image$/;
/** Events that repeat what other parts contain: earlier pieces, or the whole item that follows. */
const REPEAT =
  /^response\.(?:content_part|reasoning_summary_part|output_text|refusal|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\.(?:added|done)$/;
/** Events that end an answer with a failure. The reader does not pass failure events on. */
const FAILURE: ReadonlySet<string> = new Set(['response.failed', 'error']);

/** For each type of item, its members that other parts contain. */
const READ: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['reasoning', new Set(['summary'])],
  ['function_call', new Set(['name', 'arguments'])],
  ['custom_tool_call', new Set(['name', 'input'])],
]);
/** Members of an event that repeat what other parts contain; `part` is an entry of the content of an item. */
const REPEATED: ReadonlySet<string> = new Set(['text', 'refusal', 'arguments', 'input', 'name', 'part']);
const READ_OF_CONTENT: ReadonlySet<string> = new Set(['text', 'refusal']);
const CONTENT: ReadonlySet<string> = new Set(['content']);
const NONE: ReadonlySet<string> = new Set();

/** The output of items, separated by whether other parts contain it. */
class ItemOutput {
  readonly read = new OutputFound();
  readonly unread = new OutputFound();

  add(item: unknown): this {
    if (!isObject(item)) return this;
    if (item.type !== 'message') return this.#part(item, READ.get(textOf(item.type)) ?? NONE);
    this.unread.add(item, CONTENT);
    for (const one of listOf(item.content)) if (isObject(one)) this.#part(one, READ_OF_CONTENT);
    return this;
  }

  #part(value: Json, members: ReadonlySet<string>): this {
    this.unread.add(value, members);
    for (const name of members) if (value[name] !== undefined) this.read.add({ [name]: value[name] });
    return this;
  }
}

/** Returns the output of complete items that no other part contains. */
export function unreadOfItems(items: readonly unknown[]): UnreadOutput | undefined {
  const output = new ItemOutput();
  for (const item of items) output.add(item);
  return output.unread.last();
}

/** The number of characters of an item so far. */
interface OutputCount {
  /** The number of characters that other parts of the answer contain. */
  read: number;
  /** The number of characters that no part of the answer contains. */
  unread: number;
  state: number;
}

const noOutput = (): OutputCount => ({ read: 0, unread: 0, state: 0 });

/**
 * Finds the output in the events of a stream that no other part contains: of OpenAI's own tools, annotations and encrypted reasoning. The
 * Responses dialect repeats all output up to four times, in pieces and as a whole. `UnreadOfStream` returns each output once.
 */
export class UnreadOfStream {
  /** The counts of characters by the index of the item. */
  readonly #items = new Map<unknown, OutputCount>();
  /** The counts of characters of all items together. */
  readonly #all = noOutput();
  /** The texts that were returned. A text that differs from them is returned even if it is not longer. */
  readonly #returned = new Set<string>();
  /** The texts that were returned in pieces, by the index of the item and of the part of its content. */
  readonly #pieces = new Map<string, string>();

  /** @param read the parts that were read from the event */
  of(type: string, event: Json, read: readonly StreamPart[]): UnreadOutput | undefined {
    const { response, item, delta, output_index: at } = event;
    if (FAILURE.has(type)) return undefined;
    if (isObject(response)) return this.#ofResponse(response);
    const said = this.#items.getOrInsertComputed(at, noOutput);
    if (areShown(read) && typeof delta === 'string') {
      this.#say(said, delta.length, 0, 0);
      return undefined;
    }
    if (item !== undefined) {
      const output = new ItemOutput().add(item);
      if (areShown(read)) this.#say(said, Math.max(0, output.read.chars - said.read), 0, 0);
      return this.#beyond(said, output.unread);
    }
    if (REPEAT.test(type))
      return this.#beyond(said, new OutputFound().add(event, REPEATED).add(event.part, READ_OF_CONTENT));
    const found = new OutputFound().add(event);
    if (!PIECE.test(type)) return this.#beyond(said, found);
    this.#say(said, 0, found.chars, found.stateChars);
    const output = found.last();
    for (const text of output?.texts ?? []) {
      const place = `${at} ${event.content_index}`;
      if (typeof delta === 'string') this.#pieces.set(place, (this.#pieces.get(place) ?? '') + text);
      else this.#returned.add(text);
    }
    return output;
  }

  #say(said: OutputCount, read: number, unread: number, state: number): void {
    for (const count of said === this.#all ? [said] : [said, this.#all]) {
      count.read += read;
      count.unread += unread;
      count.state += state;
    }
  }

  /** Some servers send their items only in the last event. */
  #ofResponse({ output }: Json): UnreadOutput | undefined {
    const whole = new ItemOutput();
    for (const item of listOf(output)) whole.add(item);
    const unread = this.#beyond(this.#all, whole.unread);
    const more = Math.max(0, whole.read.chars - this.#all.read);
    const unsaid = whole.read.last(more, 0);
    this.#say(this.#all, more, 0, 0);
    return unsaid
      ? { texts: [...unsaid.texts, ...(unread?.texts ?? [])], stateChars: unread?.stateChars ?? 0 }
      : unread;
  }

  /** Returns the end of an output that was not returned before. The returned end counts as returned from then on. */
  #beyond(said: OutputCount, whole: OutputFound): UnreadOutput | undefined {
    const chars = Math.max(0, whole.chars - said.unread);
    const stateChars = Math.max(0, whole.stateChars - said.state);
    this.#say(said, 0, chars, stateChars);
    const output = whole.last(chars, stateChars, (text) => this.#isReturned(text));
    for (const text of whole.texts) this.#returned.add(text);
    return output;
  }

  #isReturned(text: string): boolean {
    if (this.#returned.has(text)) return true;
    for (const joined of this.#pieces.values()) if (joined === text) return true;
    return false;
  }
}
