import { refuse } from '../../core/errors.ts';
import { beyondLimits } from '../../core/json-limits.ts';
import { isObject, parseJson } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';
import type { SocketDialogue } from '../surface.ts';
import { isFrame } from './read-body.ts';
import { WHOLE_EVENTS, wholeResponse } from './whole-response.ts';

/** Values of one frame, or of one event. */
const VALUES_MAX = 200_000;

/** Lists of items as JSON in UTF-8, without their brackets. */
type Items = Uint8Array;

/** The last answer of a connection, with the conversation that it ends. */
interface PastAnswer {
  readonly id: unknown;
  readonly items: Items;
}

/**
 * The requests of one WebSocket. The connection remembers its last conversation, so that the next request may go on from it by
 * `previous_response_id` with new items alone. The past is put before them as it is: it is neither parsed nor written again.
 */
export class ResponsesDialogue implements SocketDialogue {
  #last: PastAnswer | null = null;
  /** The items of the request under way. */
  #asked: readonly Items[] = [];

  get bytes(): number {
    return this.#last?.items.length ?? 0;
  }

  read(frame: string): readonly Uint8Array[] {
    const request = parsed(frame);
    // Its own error tells more than one on its type.
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
    // An empty list at the end, which the items are put into.
    const head = Buffer.from(JSON.stringify({ ...rest, input: [] }).slice(0, -2));
    return [head, ...joined(this.#asked), Buffer.from(']}')];
  }

  sent(event: string): void {
    // A service may write its type anywhere in an event; a text may hold the same words.
    if (!WHOLE_EVENTS.some((type) => event.includes(`"${type}"`))) return;
    const response = wholeResponse(Object(parsed(event)));
    if (!response) return;
    const { id, output } = response;
    this.#last = { id, items: Buffer.concat(joined([...this.#asked, itemsOf(output) ?? EMPTY])) };
  }

  end(): void {
    // The last answer holds a copy of them.
    this.#asked = [];
  }

  error(status: number, body: object, headers: Readonly<Record<string, string>>): string {
    return JSON.stringify({ type: 'error', sequence_number: 0, status, headers, ...body });
  }
}

const EMPTY: Items = new Uint8Array();
const COMMA: Items = Buffer.from(',');

/** The items of an input or output; null where it has the form of neither. */
function itemsOf(input: unknown): Items | null {
  if (input == null) return EMPTY;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return Array.isArray(items) ? Buffer.from(JSON.stringify(items).slice(1, -1)) : null;
}

/** The pieces of one list of all items. */
const joined = (lists: readonly Items[]): readonly Items[] =>
  lists.filter(({ length }) => length > 0).flatMap((list, at) => (at === 0 ? [list] : [COMMA, list]));

const parsed = (text: string): unknown => (beyondLimits(text, VALUES_MAX) === null ? parseJson(text) : null);
