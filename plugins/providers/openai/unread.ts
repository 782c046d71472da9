import type { StreamPart, UnreadOutput } from 'signalbox/plugin';
import { isObject, type Json, listOf, textOf } from '../json.ts';
import { areShown, OutputFound } from '../unread.ts';

/** Events that say a further piece of an item. Others repeat the item or a part of it. */
const PIECE = /\.delta$|\.annotation\.added$|\.partial_image$/;
/** Repeats of what other parts tell, from the pieces before or from the whole item behind. */
const REPEAT =
  /^response\.(?:content_part|reasoning_summary_part|output_text|refusal|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\.(?:added|done)$/;
/** Ends by a failure, which do not go out. */
const FAILURE: ReadonlySet<string> = new Set(['response.failed', 'error']);

/** By the type of an item, its members that other parts tell. */
const READ: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['reasoning', new Set(['summary'])],
  ['function_call', new Set(['name', 'arguments'])],
  ['custom_tool_call', new Set(['name', 'input'])],
]);
const READ_OF_CONTENT: ReadonlySet<string> = new Set(['text', 'refusal']);
const CONTENT: ReadonlySet<string> = new Set(['content']);
const NONE: ReadonlySet<string> = new Set();

/** The output of items, parted by whether other parts tell it. */
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

/** Returns the output of whole items that no other part tells. */
export function unreadOfItems(items: readonly unknown[]): UnreadOutput | undefined {
  const output = new ItemOutput();
  for (const item of items) output.add(item);
  return output.unread.last();
}

/** Characters of an item, or of several, that were said so far. */
interface OutputCount {
  /** By other parts. */
  read: number;
  /** By none. */
  unread: number;
  state: number;
}

/**
 * Finds the output in the events of a stream that no other part tells: that of the service's own tools, annotations, encrypted
 * reasoning. The dialect says everything up to four times, in pieces and in wholes. Here it is returned once.
 */
export class UnreadOfStream {
  /** By the index of the item; that of the whole response is undefined. */
  readonly #items = new Map<unknown, OutputCount>();

  /** @param read the parts that were read from the event */
  of(type: string, event: Json, read: readonly StreamPart[]): UnreadOutput | undefined {
    const { response, item, delta, output_index: at } = event;
    if (FAILURE.has(type)) return undefined;
    if (isObject(response)) return this.#ofResponse(response);
    const said = this.#item(at);
    if (areShown(read) && typeof delta === 'string') {
      said.read += delta.length;
      return undefined;
    }
    if (item !== undefined) {
      const output = new ItemOutput().add(item);
      if (areShown(read)) said.read = Math.max(said.read, output.read.chars);
      return beyond(output.unread, said);
    }
    if (REPEAT.test(type)) return undefined;
    const found = new OutputFound().add(event);
    if (!PIECE.test(type)) return beyond(found, said);
    said.unread += found.chars;
    said.state += found.stateChars;
    return found.last();
  }

  #item(at: unknown): OutputCount {
    const known = this.#items.get(at);
    if (known) return known;
    const said = { read: 0, unread: 0, state: 0 };
    this.#items.set(at, said);
    return said;
  }

  /** Some servers say their items in the last event alone. */
  #ofResponse({ output }: Json): UnreadOutput | undefined {
    const whole = new ItemOutput();
    for (const item of listOf(output)) whole.add(item);
    const all = { read: 0, unread: 0, state: 0 };
    for (const { read, unread, state } of this.#items.values()) {
      all.read += read;
      all.unread += unread;
      all.state += state;
    }
    const unread = beyond(whole.unread, all);
    const unsaid = whole.read.last(whole.read.chars - all.read, 0);
    if (!unsaid) return unread;
    return { texts: [...unsaid.texts, ...(unread?.texts ?? [])], stateChars: unread?.stateChars ?? 0 };
  }
}

/** Returns the end of an output, as far as it is more than was said; it is said from then on. */
function beyond(whole: OutputFound, said: OutputCount): UnreadOutput | undefined {
  const more = whole.last(whole.chars - said.unread, whole.stateChars - said.state);
  said.unread = Math.max(said.unread, whole.chars);
  said.state = Math.max(said.state, whole.stateChars);
  return more;
}
