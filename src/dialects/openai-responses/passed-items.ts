import { isObject, listOf, objectsIn, textOf } from '../../core/json/object.ts';
import { type Edit, type Members, type OriginalPath, withEdits } from '../../core/json/original.ts';
import { GatheredText } from '../../core/text/gathered-text.ts';
import { wholeResponse } from './whole-response.ts';

/** Writes one event with these members. */
type Write = (type: string, members: Members) => void;

/** A text of an unfinished item, such as one part of its content. */
interface PassedText {
  /** The type of the events that continue the text. */
  readonly type: string;
  readonly kind: TextKind;
  /** The item and the part of the item that contain the text. */
  readonly place: Members;
  readonly text: GatheredText;
  hasEnded: boolean;
}

/** A kind of text: where items have it, and which events continue and end it. */
interface TextKind {
  readonly kind: string;
  /** The member with the text, of an entry of a list or of the item itself. */
  readonly member: string;
  /** The list, and the type of its entries; absent if the item itself has the text. */
  readonly list?: 'content' | 'summary';
  readonly part?: string;
  /** The type of the items that have the text themselves. */
  readonly item?: string;
  /**
   * Whether a reader of the answer gets the pieces of this text, or the whole item if it comes without pieces. Texts of other kinds are unread
   * output, which is read in every event.
   */
  readonly isRead: boolean;
}

/** The texts of items, by the name that their events share. */
const KINDS: readonly TextKind[] = [
  { kind: 'output_text', member: 'text', part: 'output_text', list: 'content', isRead: true },
  { kind: 'refusal', member: 'refusal', part: 'refusal', list: 'content', isRead: true },
  { kind: 'reasoning_text', member: 'text', part: 'reasoning_text', list: 'content', isRead: false },
  { kind: 'reasoning_summary_text', member: 'text', part: 'summary_text', list: 'summary', isRead: true },
  { kind: 'function_call_arguments', member: 'arguments', item: 'function_call', isRead: true },
  { kind: 'custom_tool_call_input', member: 'input', item: 'custom_tool_call', isRead: true },
  { kind: 'mcp_call_arguments', member: 'arguments', item: 'mcp_call', isRead: false },
  { kind: 'code_interpreter_call_code', member: 'code', item: 'code_interpreter_call', isRead: false },
];
const BY_NAME: ReadonlyMap<string, TextKind> = new Map(KINDS.map((one) => [one.kind, one]));

/**
 * The items of an answer that is passed on, as the caller has seen them. The Responses API writes each text up to four times: in pieces, at
 * the end of the text, of its part and of its item, and in the last event.
 */
export class PassedItems {
  readonly #keepsTexts: boolean;
  readonly #open = new Map<number, Members>();
  /** The finished items by index. They are in a map because a provider may send any index. */
  readonly #done = new Map<number, unknown>();
  /** The texts of unfinished items, by the index of the item. */
  readonly #texts = new Map<number, Map<string, PassedText>>();
  /** The text that the last event continued, because most events continue the same text. */
  #last: PassedText | null = null;

  /** @param keepsTexts whether the texts of unfinished items are kept */
  constructor(keepsTexts: boolean) {
    this.#keepsTexts = keepsTexts;
  }

  /** The finished items, in their order. */
  get done(): readonly unknown[] {
    return [...this.#done].sort(([a], [b]) => a - b).flatMap(([, item]) => (item === undefined ? [] : [item]));
  }

  /** Notes an event that the caller gets. */
  note(type: string, event: Members): void {
    const last = this.#last;
    if (last?.type === type && isAt(last.place, event)) {
      last.text.add(textOf(event.delta));
      return;
    }
    const at = indexOf(event);
    if (type === 'response.output_item.added' && isObject(event.item)) this.#open.set(at, event.item);
    if (type === 'response.output_item.done') {
      this.#open.delete(at);
      this.#texts.delete(at);
      this.#last = null;
      this.#done.set(at, event.item);
    }
    const [, name = '', step] = (this.#keepsTexts && STEP.exec(type)) || [];
    const kind = BY_NAME.get(name);
    if (!kind) return;
    const text = this.#texts
      .getOrInsertComputed(at, () => new Map())
      .getOrInsertComputed(keyOf(kind, event), () => begun(kind, event));
    if (step === 'done') text.hasEnded = true;
    else {
      text.text.add(textOf(event.delta));
      this.#last = text;
    }
  }

  /**
   * Returns an event in which all that repeats earlier output is what the caller has seen. An item that comes without pieces stays as it is,
   * because it is read as a whole.
   */
  withRepeats(type: string, event: Members): Members {
    if (type.endsWith('.delta')) return event;
    return withEdits(event, this.#repeatsIn(type, event));
  }

  #repeatsIn(type: string, event: Members): Edit[] {
    const { response, item, part } = event;
    const at = indexOf(event);
    if (isObject(response)) return this.#ofResponse(event, response);
    if (isObject(item)) {
      const isEnd = type === 'response.output_item.done';
      if (isEnd && this.#done.has(at)) return [{ at: ['item'], value: this.#done.get(at) }];
      return this.#ofItem(item, at, isEnd && !this.#isStreamed(at)).map((edit) => ({
        ...edit,
        at: ['item', ...edit.at],
      }));
    }
    if (isObject(part)) {
      const list = type.includes('summary') ? 'summary' : 'content';
      const kind = KINDS.find((one) => one.part === part.type && one.list === list);
      return kind ? this.#repeat(kind, event, at, ['part'], part) : [];
    }
    const [, name = '', step] = STEP.exec(type) ?? [];
    const kind = step === 'done' ? BY_NAME.get(name) : undefined;
    return kind ? [...this.#repeat(kind, event, at, [], event), ...this.#ofName(event, at)] : [];
  }

  /** Returns the edits of an item. @param isWhole whether the item is read as a whole */
  #ofItem(item: Members, at: number, isWhole: boolean): Edit[] {
    const edits = this.#ofName(item, at);
    for (const kind of KINDS) {
      if (isWhole && kind.isRead) continue;
      const { list, part } = kind;
      if (kind.item === item.type && list === undefined) edits.push(...this.#repeat(kind, {}, at, [], item));
      if (list === undefined) continue;
      for (const [index, entry] of listOf(item[list]).entries()) {
        const place = { content_index: index, summary_index: index };
        if (isObject(entry) && entry.type === part) edits.push(...this.#repeat(kind, place, at, [list, index], entry));
      }
    }
    return edits;
  }

  /** Returns the edit of a text; none if it repeats what the caller got, or if it came without pieces and guards read it here. */
  #repeat(kind: TextKind, place: Members, at: number, path: OriginalPath, owner: Members): Edit[] {
    const { member, isRead } = kind;
    const text = this.#texts.get(at)?.get(keyOf(kind, place))?.text;
    const value = text?.value ?? '';
    const stays = owner[member] === undefined || owner[member] === value || (value === '' && !isRead);
    return stays ? [] : [{ at: [...path, member], value }];
  }

  /** The name of a call is shown when the call begins. */
  #ofName({ name }: Members, at: number): Edit[] {
    const shown = this.#open.get(at)?.name;
    return name === undefined || shown === undefined || shown === name ? [] : [{ at: ['name'], value: shown }];
  }

  #ofResponse(event: Members, { output, output_text: texts = null }: Members): Edit[] {
    const given = listOf(output);
    const isKnown = this.#open.size + this.#done.size + this.#texts.size > 0;
    // Only the last event has the output. The output of an answer without events was read as a whole.
    const whole = wholeResponse(event) ? given.flatMap((item, at) => this.#shownItem(item, at)) : [];
    const shown = isKnown ? whole : given;
    const edits: Edit[] = isKnown && given.length > 0 ? [{ at: ['response', 'output'], value: shown }] : [];
    // Some servers repeat all texts of the output in one member.
    if (texts !== null) edits.push({ at: ['response', 'output_text'], value: textsIn(shown) });
    return edits;
  }

  #shownItem(item: unknown, at: number): readonly unknown[] {
    if (this.#done.has(at)) return [this.#done.get(at)];
    const isOpen = this.#open.has(at) || this.#texts.has(at);
    return isOpen && isObject(item) ? [withEdits(item, this.#ofItem(item, at, false))] : [];
  }

  /** Whether pieces of an item came that are also read. */
  #isStreamed(at: number): boolean {
    const texts = [...(this.#texts.get(at)?.values() ?? [])];
    return texts.some(({ kind, text }) => kind.isRead && !text.isEmpty);
  }

  /** Closes the items that the provider has not finished. */
  cut(write: Write): void {
    for (const [at, item] of this.#open) this.#cut(at, item, write);
  }

  #cut(at: number, item: Members, write: Write): void {
    const cut: Record<string, unknown> = { ...item, status: 'incomplete' };
    const lists = new Map<string, unknown[]>();
    for (const { kind, place, text: gathered, hasEnded } of this.#texts.get(at)?.values() ?? []) {
      const text = gathered.value;
      const { member, part, list } = kind;
      const more = part === 'output_text' ? { logprobs: [] } : {};
      if (!hasEnded) write(`response.${kind.kind}.done`, { ...place, [member]: text, ...more });
      if (list === undefined) cut[member] = text;
      else {
        const whole = { type: part, [member]: text, ...(part === 'output_text' && { annotations: [], logprobs: [] }) };
        const event = list === 'summary' ? 'reasoning_summary_part' : 'content_part';
        if (!hasEnded) write(`response.${event}.done`, { ...place, part: whole });
        const entries = lists.get(list) ?? [...listOf(item[list])];
        entries.push(whole);
        lists.set(list, entries);
      }
    }
    for (const [list, entries] of lists) cut[list] = entries;
    this.#done.set(at, cut);
    write('response.output_item.done', { output_index: at, item: cut });
  }
}

const STEP = /^response\.(\w+)\.(delta|done)$/;

const begun = (kind: TextKind, event: Members): PassedText => ({
  type: `response.${kind.kind}.delta`,
  kind,
  place: placeOf(event),
  text: new GatheredText(),
  hasEnded: false,
});

/** Returns the texts of the messages in an output, as one text. */
const textsIn = (output: readonly unknown[]): string =>
  objectsIn(output)
    .flatMap(({ content }) => objectsIn(content))
    .map(({ type, text }) => (type === 'output_text' ? textOf(text) : ''))
    .join('');

/** Returns the index of the item of an event. */
const indexOf = ({ output_index: at }: Members): number => (typeof at === 'number' ? at : 0);

/** Returns the key of a text in its item. */
function keyOf({ kind, list }: TextKind, { content_index, summary_index }: Members): string {
  const index = list === 'summary' ? summary_index : content_index;
  return `${kind} ${list !== undefined && typeof index === 'number' ? index : 0}`;
}

/** Returns the members that identify the item and part that an event belongs to. */
const placeOf = ({ item_id, output_index, content_index, summary_index }: Members): Members => ({
  item_id,
  output_index,
  content_index,
  summary_index,
});

/** Returns whether an event belongs to this item and part. */
const isAt = (place: Members, event: Members): boolean =>
  place.item_id === event.item_id &&
  place.output_index === event.output_index &&
  place.content_index === event.content_index &&
  place.summary_index === event.summary_index;
