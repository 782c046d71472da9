import type { PassedPart } from '../../contract/parts.ts';
import { isObject, listOf, textOf } from '../../core/json/object.ts';
import { type Edit, type Members, type OriginalPath, valueAt, withEdits } from '../../core/json/original.ts';
import { isImpossible } from '../../core/money/usage.ts';
import type { Receipt } from '../../core/request/answer.ts';
import { GatheredText } from '../../core/text/gathered-text.ts';
import { usageBody } from './response.ts';
import { WHOLE_EVENTS, wholeResponse } from './whole-response.ts';

/** Receives one event: its type and the whole event as JSON. */
type EmitEvent = (type: string, json: string) => void;

/** A text of an unfinished item, such as one part of its content. */
interface PassedText {
  /** The type of the events that continue the text. */
  readonly type: string;
  /** The name that the events of this text share, such as `output_text`. */
  readonly kind: string;
  /** The item and the part of the item that contain the text. */
  readonly place: Members;
  readonly text: GatheredText;
  hasEnded: boolean;
}

interface PassedItem {
  readonly item: Members;
  readonly texts: Map<string, PassedText>;
}

const ENDS: ReadonlySet<unknown> = new Set([...WHOLE_EVENTS, 'response.failed', 'error']);

/**
 * Passes on the events of an answer as its provider sent them. `PassedResponse` holds the last event back until the price is known. If the
 * answer ends before the provider ended it, `PassedResponse` closes the open items. If Signalbox edited a text, later events that repeat
 * the text repeat the edited text.
 */
export class PassedResponse {
  readonly #emit: EmitEvent;
  #response: Members = {};
  #end: Members | null = null;
  /** Whether the usage in the last event cannot be true. */
  #isMiscounted = false;
  #sequence = 0;
  readonly #open = new Map<number, PassedItem>();
  /** The finished items by index. The finished items are in a map because a provider may send any index. */
  readonly #done = new Map<number, unknown>();
  /** The text that the last event continued, because most events continue the same text. */
  #last: PassedText | null = null;
  readonly #editedTexts = new Set<PassedText>();
  /** The indexes of items with an edited text. */
  readonly #editedItems = new Set<number>();
  readonly #mayBeCut: boolean;

  /** @param mayBeCut whether Signalbox may end or edit the answer; only then the texts of open items are kept */
  constructor(emit: EmitEvent, mayBeCut: boolean) {
    this.#emit = emit;
    this.#mayBeCut = mayBeCut;
  }

  /** Adds an event. `add` removes a usage that cannot be true from the event. */
  add({ event, json, usage, isEdited }: PassedPart): void {
    const told = this.#editedItems.size === 0 ? event : withEdits(event, this.#repeatsIn(event));
    this.#isMiscounted = isImpossible(usage);
    if (this.#isMiscounted) this.#take({ ...told, response: { ...Object(told.response), usage: null } });
    else this.#take(told, told === event ? json : undefined);
    if (isEdited) this.#noteEdit(event);
  }

  /** The complete response as the provider ended it; null before its end. */
  get whole(): Members | null {
    return this.#end && wholeResponse(this.#end);
  }

  /**
   * Adds the platform of a receipt to the complete response. If the provider's usage cannot be true, `priced` also adds the usage of the
   * receipt.
   */
  priced(whole: Members, { platform, usage }: Pick<Receipt, 'platform' | 'usage'>): Members {
    const own = this.#isMiscounted ? usageBody(usage) : completeUsage(whole.usage);
    return { ...whole, ...(isObject(own) && { usage: own }), platform };
  }

  /** @param json the event as its provider wrote it, on one line */
  #take(event: Members, json?: string): void {
    const type = String(event.type);
    if (this.#last?.type === type && isAt(this.#last.place, event)) this.#last.text.add(textOf(event.delta));
    else if (ENDS.has(type)) {
      this.#end = event;
      return;
    } else this.#note(type, event);
    const { sequence_number: sequence } = event;
    this.#sequence = typeof sequence === 'number' ? sequence + 1 : this.#sequence + 1;
    this.#emit(type, json ?? JSON.stringify(event));
  }

  /** Ends a successful answer. */
  end(receipt: Pick<Receipt, 'platform' | 'usage'>): void {
    const { whole } = this;
    if (whole) {
      const response = this.priced(whole, receipt);
      this.#emit(String(this.#end?.type), JSON.stringify({ ...this.#end, response }));
      return;
    }
    for (const [at, item] of this.#open) this.#cut(at, item);
    const reason = { reason: 'max_output_tokens' };
    const cut = {
      ...this.#response,
      status: 'incomplete',
      incomplete_details: reason,
      output: this.#output(),
      platform: receipt.platform,
    };
    this.#write('response.incomplete', { response: cut });
  }

  /** Ends a failed answer. The response of a failed answer leaves out unfinished items. */
  fail(
    error: { readonly code: string; readonly message: string; readonly param: unknown; readonly type: string },
    platform: object | null,
  ): void {
    const { type: _, ...flat } = error;
    this.#write('error', { ...flat, error });
    const { code, message } = error;
    const failed = { ...this.#response, status: 'failed', error: { code, message }, output: this.#output() };
    this.#write('response.failed', { response: { ...failed, ...(platform && { platform }) } });
  }

  #output(): readonly unknown[] {
    return [...this.#done].sort(([a], [b]) => a - b).flatMap(([, item]) => (item === undefined ? [] : [item]));
  }

  #write(type: string, members: Members): void {
    this.#emit(type, JSON.stringify({ type, sequence_number: this.#sequence++, ...members }));
  }

  #note(type: string, event: Members): void {
    const { response, output_index: at, item } = event;
    if (isObject(response)) this.#response = response;
    if (typeof at !== 'number') return;
    if (type === 'response.output_item.added' && isObject(item)) this.#open.set(at, { item, texts: new Map() });
    if (type === 'response.output_item.done') {
      this.#open.delete(at);
      this.#done.set(at, item);
    }
    const texts = this.#mayBeCut ? this.#open.get(at)?.texts : undefined;
    if (!texts) return;
    const [, kind = '', step] = /^response\.(\w+)\.(delta|done)$/.exec(type) ?? [];
    if (MEMBERS[kind] === undefined) return;
    const place = placeOf(event);
    const key = `${kind} ${JSON.stringify(place)}`;
    const known = texts.get(key) ?? {
      type: `response.${kind}.delta`,
      kind,
      place,
      text: new GatheredText(),
      hasEnded: false,
    };
    texts.set(key, known);
    if (step === 'done') known.hasEnded = true;
    else {
      known.text.add(textOf(event.delta));
      this.#last = known;
    }
  }

  #noteEdit(event: Members): void {
    const { type, output_index: at } = event;
    if (typeof at === 'number') this.#editedItems.add(at);
    const last = this.#last;
    if (last && last.type === type && isAt(last.place, event)) this.#editedTexts.add(last);
  }

  /** Returns the edits for the places in an event that repeat an edited text. */
  #repeatsIn(event: Members): Edit[] {
    if (wholeResponse(event))
      return [...this.#editedItems].map((at) => ({ at: ['response', 'output', at], value: this.#done.get(at) }));
    return [...this.#editedTexts].flatMap((edited) => {
      const at = repeatIn(event, edited);
      return typeof valueAt(event, at) === 'string' ? [{ at, value: edited.text.value }] : [];
    });
  }

  /** Closes an item that the provider has not finished. */
  #cut(at: number, { item, texts }: PassedItem): void {
    const cut: Record<string, unknown> = { ...item, status: 'incomplete' };
    const lists = new Map<string, unknown[]>();
    for (const { kind, place, text: gathered, hasEnded } of texts.values()) {
      const text = gathered.value;
      const { member, part, list } = MEMBERS[kind]!;
      const more = kind === 'output_text' ? { logprobs: [] } : {};
      if (!hasEnded) this.#write(`response.${kind}.done`, { ...place, [member]: text, ...more });
      if (part === undefined) cut[member] = text;
      else {
        const whole = { type: part, [member]: text, ...(kind === 'output_text' && { annotations: [], logprobs: [] }) };
        const event = list === 'summary' ? 'reasoning_summary_part' : 'content_part';
        if (!hasEnded) this.#write(`response.${event}.done`, { ...place, part: whole });
        const entries = lists.get(list) ?? [...listOf(item[list])];
        entries.push(whole);
        lists.set(list, entries);
      }
    }
    for (const [list, entries] of lists) cut[list] = entries;
    this.#done.set(at, cut);
    this.#write('response.output_item.done', { output_index: at, item: cut });
  }
}

/** Adds the token count that strict clients require if the provider does not report it. */
function completeUsage(usage: unknown): unknown {
  if (!isObject(usage)) return usage;
  const details = isObject(usage.input_tokens_details) ? usage.input_tokens_details : { cached_tokens: 0 };
  if (details.cache_write_tokens !== undefined) return usage;
  return { ...usage, input_tokens_details: { ...details, cache_write_tokens: 0 } };
}

/** The texts of items: the member that contains the text, or the list that contains the text and the type of the list's entries. */
const MEMBERS: Readonly<
  Record<string, { readonly member: string; readonly part?: string; readonly list: 'content' | 'summary' }>
> = {
  output_text: { member: 'text', part: 'output_text', list: 'content' },
  refusal: { member: 'refusal', part: 'refusal', list: 'content' },
  reasoning_text: { member: 'text', part: 'reasoning_text', list: 'content' },
  reasoning_summary_text: { member: 'text', part: 'summary_text', list: 'summary' },
  function_call_arguments: { member: 'arguments', list: 'content' },
  custom_tool_call_input: { member: 'input', list: 'content' },
};

/** Returns the path in an event that repeats a text of an item; an empty path if the event repeats no text. */
function repeatIn(event: Members, { kind, place }: PassedText): OriginalPath {
  const { member, part, list } = MEMBERS[kind]!;
  if (event.type === 'response.output_item.done' && event.output_index === place.output_index) {
    const index = Number(list === 'summary' ? place.summary_index : place.content_index);
    return part === undefined ? ['item', member] : ['item', list, index, member];
  }
  if (!isAt(place, event)) return [];
  if (event.type === `response.${kind}.done`) return [member];
  return Object(event.part).type === part ? ['part', member] : [];
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
