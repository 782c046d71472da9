import { ListTotal } from '../../core/json/list-memory.ts';
import { isEmpty, isObject } from '../../core/json/object.ts';
import { type Edit, type Members, pathText } from '../../core/json/original.ts';
import { SharedValues } from '../../core/json/shared-values.ts';
import { placesOf, type Turn } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { isWrappedState, wrapState } from '../../core/request/wrapped-state.ts';

type Kind = 'whole' | 'blocks' | 'within' | 'tail';

/**
 * The members of a message that only the model that wrote them can read. New members with opaque state must be added to this list only.
 * With `whole`, the member is opaque state. With `blocks`, the member's signed or encrypted entries are opaque state. With `within`, the
 * member may contain members with opaque state. With `tail`, the member's text after `TAIL` is opaque state.
 */
const STATE: ReadonlyMap<string, Kind> = new Map([
  // OpenRouter uses this member on messages.
  ['reasoning_details', 'blocks'],
  // LiteLLM uses this member on messages: Anthropic's blocks, unchanged.
  ['thinking_blocks', 'blocks'],
  // A signature with readable reasoning, and OpenAI's reasoning items, as several gateways pass them on.
  ['reasoning_signature', 'whole'],
  ['encrypted_content', 'whole'],
  ['reasoning_encrypted_content', 'whole'],
  // LiteLLM and other gateways use this member on messages: items of OpenAI's Responses.
  ['reasoning_items', 'blocks'],
  // GitHub Copilot uses this member.
  ['reasoning_opaque', 'whole'],
  // Gemini uses this member on messages and on calls: directly, below `extra_content`, and in the plural with LiteLLM.
  ['thought_signature', 'whole'],
  ['thought_signatures', 'whole'],
  ['extra_content', 'within'],
  ['google', 'within'],
  ['vertex', 'within'],
  ['provider_specific_fields', 'within'],
  // Gemini's own API has it on the parts of a content.
  ['thoughtSignature', 'whole'],
  ['parts', 'within'],
  // In Anthropic's Messages API, the content of a message may have blocks that are thoughts.
  ['content', 'within'],
  ['tool_calls', 'within'],
  ['function', 'within'],
  // LiteLLM writes Gemini's signature into the ID of the call, so that no client loses it.
  ['id', 'tail'],
]);
const TAIL = '__thought__';
/** The signature of a thought without state. */
const UNSIGNED = wrapState({});

/** Members that mark an opaque block. */
const MARKS = ['signature', 'data', 'encrypted_content', 'thought_signature'] as const;
const MARKED_TYPES: ReadonlySet<unknown> = new Set(['reasoning.encrypted', 'redacted_thinking']);

interface ReadableRequest {
  /** The request without the removed members; the same object if nothing was removed. */
  readonly request: ModelRequest;
  /** The members that were removed, such as `messages[3].reasoning_details`. */
  readonly dropped: readonly string[];
}

/** Whether any turn of the assistant has state that only some models can read. */
export const bearsState = (request: ModelRequest): boolean =>
  statefulLists.of(request.conversation.turns, (bears, _, index) => bears || bearsStateAt(request, index));

/** Whether lists of turns have state. */
const statefulLists = new ListTotal<Turn, boolean>(() => false);

/** Whether the turn at this index has state that only some models can read. */
export function bearsStateAt(request: ModelRequest, index: number): boolean {
  const turn = request.conversation.turns[index]!;
  if (turn.role !== 'assistant') return false;
  return (
    statefulTurns.get(turn) ??
    statefulTurns.set(
      turn,
      mayBear(turn) && messagesOf(turn, request).some((message) => without(message, []) !== message),
    )
  );
}

/** Whether shared turns have state. */
const statefulTurns = new SharedValues<Turn, boolean>();

/** Whether Signalbox wrapped the state of a turn, because its provider uses another dialect than the request. */
export function bearsWrappedState(request: ModelRequest, index: number): boolean {
  const messages = messagesOf(request.conversation.turns[index]!, request);
  const owners = messages.flatMap((message) => [message, ...(Array.isArray(message.content) ? message.content : [])]);
  return owners.some((owner) => isObject(owner) && MARKS.some((mark) => isWrapped(owner[mark])));
}

const isWrapped = (mark: unknown): boolean => typeof mark === 'string' && isWrappedState(mark);

const messagesOf = (turn: Turn, request: ModelRequest): readonly Members[] =>
  placesOf(turn)
    .map((at) => request.originalAt(at))
    .filter(isObject);

/** Whether a turn has members that the neutral form does not name, or marked IDs of calls. No other place of a turn contains state. */
function mayBear({ role, parts, extras }: Turn): boolean {
  if (role !== 'assistant') return false;
  if (!isEmpty(extras)) return true;
  for (const part of parts) {
    if (!isEmpty(part.extras) || (part.type === 'tool-call' && part.id.includes(TAIL))) return true;
  }
  return false;
}

/**
 * Removes the state of earlier reasoning that a model cannot read.
 * @param mayRead called with the index of a turn, only if the turn has state
 */
export function withReadableState(request: ModelRequest, mayRead: (turn: number) => boolean): ReadableRequest {
  const { turns } = request.conversation;
  const dropped: string[] = [];
  const edits: Edit[] = [];
  /** The IDs of calls that lost their state. The result of a tool names its call, so its ID must change, too. */
  const cut = new Set<string>();
  for (let index = 0; index < turns.length; index++) {
    const turn = turns[index]!;
    const { role, at, parts, toolCallId: id } = turn;
    if (id !== undefined && cut.has(id)) edits.push({ at: [...at, 'tool_call_id'], value: withoutTail(id) });
    if (role !== 'assistant') continue;
    const found = statesIn(turn, request);
    if (found.edits.length === 0 || mayRead(index)) continue;
    edits.push(...found.edits);
    for (const part of parts) if (part.type === 'tool-call' && withoutTail(part.id) !== part.id) cut.add(part.id);
    dropped.push(...found.dropped);
  }
  return { request: request.edit(edits), dropped };
}

/** Finds the edits that remove the state of a turn, and the paths of the removed members. */
function statesIn(turn: Turn, request: ModelRequest): { readonly edits: Edit[]; readonly dropped: string[] } {
  const edits: Edit[] = [];
  const dropped: string[] = [];
  for (const at of placesOf(turn)) {
    const message = request.originalAt(at);
    if (!isObject(message)) continue;
    const found: string[] = [];
    const rest = without(message, found);
    if (rest === message) continue;
    for (const name in message) {
      if (rest[name] !== message[name]) edits.push({ at: [...at, name], value: rest[name] });
    }
    for (const path of found) dropped.push(`${pathText(at)}${path}`);
  }
  return { edits, dropped };
}

/** Functions that return the readable rest of a member, by kind; undefined if nothing is readable. */
const READABLE: Readonly<Record<Kind, (value: unknown, found: string[]) => unknown>> = {
  whole: () => undefined,
  blocks: plainBlocks,
  within: withoutInner,
  tail: withoutTail,
};

/** Returns an object without its opaque members, and adds their paths to `found`; the same object if it has none. */
function without<T extends Members>(owner: T, found: string[]): T {
  let copy: Record<string, unknown> | null = null;
  for (const name in owner) {
    const kind = STATE.get(name);
    const value = owner[name];
    if (kind === undefined || value == null) continue;
    const inner = found.length;
    const rest = READABLE[kind](value, found);
    if (rest === value) continue;
    if (kind !== 'within') found.push('');
    putBefore(`.${name}`, found, inner);
    copy ??= { ...owner };
    if (rest === undefined) delete copy[name];
    else copy[name] = rest;
  }
  return copy === null ? owner : (copy as T);
}

/**
 * Completes the paths from the index `from` on. Paths are built from the inside out, because nearly all requests have no removed members.
 */
function putBefore(step: string, found: string[], from: number): void {
  for (let at = from; at < found.length; at++) found[at] = `${step}${found[at]}`;
}

/** Removes opaque members within a member; undefined if nothing is left. */
function withoutInner(value: unknown, found: string[]): unknown {
  if (Array.isArray(value)) return withoutEach(value, found);
  if (!isObject(value)) return value;
  const rest = without(value, found);
  return rest !== value && Object.keys(rest).length === 0 ? undefined : rest;
}

function withoutEach(list: readonly unknown[], found: string[]): readonly unknown[] {
  let changed: unknown[] | null = null;
  for (let at = 0; at < list.length; at++) {
    const item = list[at];
    if (!isObject(item)) continue;
    const inner = found.length;
    const isThought = isOpaqueThought(item);
    const rest = isThought ? undefined : without(item, found);
    if (rest === item) continue;
    if (isThought) found.push('');
    putBefore(`[${at}]`, found, inner);
    changed ??= [...list];
    changed[at] = rest;
  }
  return changed?.filter((item) => item !== undefined) ?? list;
}

/** Whether a block of content is a thought with state. An unsigned thought is plain text. */
const isOpaqueThought = ({ type, signature }: Members): boolean =>
  type === 'redacted_thinking' || (type === 'thinking' && signature !== '' && signature !== UNSIGNED);

/** Returns the entries with plain text; undefined for none. */
function plainBlocks(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const plain = value.filter((block) => !isOpaque(block));
  if (plain.length === value.length) return value;
  return plain.length === 0 ? undefined : plain;
}

function withoutTail<T>(value: T): T | string {
  const at = typeof value === 'string' ? value.indexOf(TAIL) : -1;
  return at < 0 ? value : String(value).slice(0, at);
}

const isOpaque = (block: unknown): boolean =>
  isObject(block) && (MARKED_TYPES.has(block.type) || MARKS.some((mark) => block[mark] != null && block[mark] !== ''));
