import { refuse } from '../../core/errors.ts';
import { beyondLimits } from '../../core/json/limits.ts';
import { isObject, parseJson } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import type { SocketDialogue } from '../surface.ts';
import { isFrame } from './read-body.ts';
import { WHOLE_EVENTS, wholeResponse } from './whole-response.ts';

/** The maximum number of JSON values in one frame or one event. */
const VALUES_MAX = 200_000;

/** Several items as JSON in UTF-8, without the brackets of the list. */
type Items = Uint8Array;

/** The last answer of a connection, with the conversation that led to it. */
interface PastAnswer {
  readonly id: unknown;
  readonly items: Items;
}

/**
 * The requests of one WebSocket. The connection remembers its last conversation, so the next request can send only new items and refer to
 * the rest with `previous_response_id`. The dialogue puts the earlier items before the new ones as bytes, without parsing or writing them
 * again.
 */
export class ResponsesDialogue implements SocketDialogue {
  #last: PastAnswer | null = null;
  /** The items of the current request. */
  #asked: readonly Items[] = [];

  get bytes(): number {
    return this.#last?.items.length ?? 0;
  }

  read(frame: string): readonly Uint8Array[] {
    const request = parsed(frame);
    // If a frame is no object, an error about the whole frame is more helpful than an error about its `type`.
    if (!isObject(request)) return [Buffer.from(frame)];
    if (!isFrame(request)) {
      refuse('type', '`type` must be "response.create".');
    }
    const { previous_response_id: id, input, ...rest }: Members = request;
    const own = itemsOf(input);
    const past = id != null && this.#last?.id === id ? this.#last.items : null;
    this.#asked = past === null ? [own ?? EMPTY] : [past, own ?? EMPTY];
    if (past === null) return [Buffer.from(frame)];
    if (own === null) return [Buffer.from(JSON.stringify({ ...rest, input }))];
    // The body ends with an empty list, into which the items are inserted.
    const head = Buffer.from(JSON.stringify({ ...rest, input: [] }).slice(0, -2));
    return [head, ...joined(this.#asked), Buffer.from(']}')];
  }

  sent(event: string): void {
    // The search for the type is only a fast first test: a provider may write the type anywhere in an event, and a text may contain the
    // same words.
    if (!WHOLE_EVENTS.some((type) => event.includes(`"${type}"`))) return;
    const response = wholeResponse(Object(parsed(event)));
    if (!response) return;
    const { id, output } = response;
    this.#last = { id, items: Buffer.concat(joined([...this.#asked, itemsOf(output) ?? EMPTY])) };
  }

  end(): void {
    // The last answer now contains a copy of the items of the request.
    this.#asked = [];
  }

  error(status: number, body: object, headers: Readonly<Record<string, string>>): string {
    return JSON.stringify({ type: 'error', sequence_number: 0, status, headers, ...body });
  }
}

const EMPTY: Items = new Uint8Array();
const COMMA: Items = Buffer.from(',');

/** Returns the items of an input or output; null if the value is neither a text nor a list. */
function itemsOf(input: unknown): Items | null {
  if (input == null) return EMPTY;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return Array.isArray(items) ? Buffer.from(JSON.stringify(items).slice(1, -1)) : null;
}

/** Returns the pieces that together form one list of all items. */
const joined = (lists: readonly Items[]): readonly Items[] =>
  lists.filter(({ length }) => length > 0).flatMap((list, at) => (at === 0 ? [list] : [COMMA, list]));

const parsed = (text: string): unknown => (beyondLimits(text, VALUES_MAX) === null ? parseJson(text) : null);
