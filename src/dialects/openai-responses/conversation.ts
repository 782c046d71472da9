import { addMembers, extrasOf, NO_EXTRAS } from '../../core/api/extras.ts';
import { memoryOf, remember } from '../../core/json/list-memory.ts';
import type { Members, OriginalPath } from '../../core/json/original.ts';
import { isShared, SharedValues, share } from '../../core/json/shared-values.ts';
import type { ContentPart, Conversation, FilePart, ToolCallPart, Turn } from '../../core/request/conversation.ts';
import { EarlierReasoning } from '../earlier-reasoning.ts';
import { nativePart, textPart } from '../neutral-parts.ts';
import type { InputItem, InputPart, MessageItem, ResponsesRequest } from './request.ts';
import {
  addToolsOfInput,
  CUSTOM_ARGUMENT,
  choiceOf,
  nameOfCall,
  offeredTools,
  type ToolTable,
  toolTable,
} from './tools.ts';

type ReasoningItem = Extract<InputItem, { type: 'reasoning' }>;
type CallItem = Extract<InputItem, { type: 'function_call' | 'custom_tool_call' }>;

/** The `format` of OpenAI's encrypted reasoning in `reasoning_details`. */
const OPENAI_FORMAT = 'openai-responses-v1';

const OF_MESSAGE: readonly string[] = ['type', 'role', 'content', 'id', 'status'];
const OF_CALL: readonly string[] = ['type', 'id', 'status', 'call_id', 'name', 'namespace', 'arguments', 'input'];
const OF_OUTPUT: readonly string[] = ['type', 'id', 'status', 'call_id', 'output'];
const OF_TEXT: readonly string[] = ['type', 'text', 'annotations', 'logprobs'];
const OF_REFUSAL: readonly string[] = ['type', 'refusal'];
const OF_IMAGE: readonly string[] = ['type', 'image_url', 'detail', 'file_id'];
const OF_FILE: readonly string[] = ['type', 'file_data', 'file_id', 'file_url', 'filename'];

/** Reads instructions, input and tools. */
export function conversationOf({
  instructions,
  input,
  tools,
  tool_choice,
  max_tool_calls,
}: ResponsesRequest): Conversation {
  const usesMax = max_tool_calls ?? null;
  const table = toolTable(tools, usesMax);
  const offered = offeredTools(tool_choice, table);
  const nativeTools = [...offered.native];
  addToolsOfInput(input, usesMax, nativeTools);
  const toolChoice = choiceOf(tool_choice, table, nativeTools);
  const turns: Turn[] = [];
  if (instructions !== undefined) turns.push(textTurn('system', instructions, ['instructions']));
  if (typeof input === 'string') turns.push(textTurn('user', input, ['input']));
  else {
    addItems(input, { table, tools }, turns);
    const memory = memoryOf(input);
    if (memory !== undefined) remember(turns, memory);
  }
  return {
    turns,
    tools: offered.tools,
    ...(nativeTools.length > 0 && { nativeTools }),
    ...(offered.leftOut.length > 0 && { leftOutTools: offered.leftOut }),
    toolChoice,
  };
}

function textTurn(role: 'system' | 'user', text: string, at: OriginalPath): Turn {
  return { role, parts: [textPart(text, at)], extras: NO_EXTRAS, at };
}

/** The items of one answer, which form one turn: reasoning, messages and calls. */
class AnswerTurn {
  readonly #places: OriginalPath[] = [];
  readonly #parts: ContentPart[] = [];
  readonly #earlier = new EarlierReasoning();
  /** The extra members of the turn; null before the first message that has extra members. */
  #extras: Record<string, unknown> | null = null;

  get isEmpty(): boolean {
    return this.#parts.length === 0 && !this.#earlier.hasState;
  }

  addMessage(message: MessageItem, at: OriginalPath): void {
    this.#places.push(at);
    for (const part of contentParts(message.content, [...at, 'content'])) this.#parts.push(part);
    const extras = extrasOf(message, OF_MESSAGE);
    if (extras === NO_EXTRAS) return;
    this.#extras ??= {};
    addMembers(this.#extras, extras);
  }

  addCall(call: ToolCallPart): void {
    this.#places.push(call.at);
    this.#parts.push(call);
  }

  addNative(kind: string, at: OriginalPath): void {
    this.#places.push(at);
    this.#parts.push(nativePart(kind, at));
  }

  addReasoning(item: ReasoningItem, at: OriginalPath): void {
    const index = this.#places.length;
    this.#places.push(at);
    const content = item.encrypted_content ?? '';
    if (this.#earlier.unwrap(content)) return;
    if (content === '') this.#earlier.text += joinedText(item.content ?? item.summary ?? []);
    else for (const detail of detailsOf(item, content, index)) this.#earlier.details.push(detail);
  }

  turn(): Turn {
    const [at = [], ...alsoAt] = this.#places;
    const turn: { -readonly [Key in keyof Turn]: Turn[Key] } = {
      role: 'assistant',
      parts: this.#partsWithState(),
      extras: this.#earlier.extrasBeside(this.#extras ?? NO_EXTRAS),
      at,
    };
    if (alsoAt.length > 0) turn.alsoAt = alsoAt;
    return turn;
  }

  #partsWithState(): readonly ContentPart[] {
    const { calls: ofCalls } = this.#earlier;
    if (ofCalls.size === 0) return this.#parts;
    return this.#parts.map((part) => {
      const extra = part.type === 'tool-call' ? ofCalls.get(part.id) : undefined;
      return extra ? { ...part, extras: { ...part.extras, extra_content: extra } } : part;
    });
  }
}

const joinedText = (parts: readonly { readonly text?: string }[]): string =>
  parts.map(({ text = '' }) => text).join('');

/** Converts a reasoning item of OpenAI to entries of `reasoning_details`. */
function detailsOf({ id, summary }: ReasoningItem, data: string, index: number): readonly Members[] {
  const common = { format: OPENAI_FORMAT, index, ...(id != null && { id }) };
  const summaries = (summary ?? []).map(({ text = '' }) => ({ type: 'reasoning.summary', summary: text, ...common }));
  return [...summaries, { type: 'reasoning.encrypted', data, ...common }];
}

const isMessage = (item: InputItem): item is MessageItem => item.type === undefined || item.type === 'message';

/** The tools of a request, which decide the names of its calls. */
interface NamedTools {
  readonly table: ToolTable;
  readonly tools: ResponsesRequest['tools'];
}

function addItems(items: readonly InputItem[], named: NamedTools, turns: Turn[]): void {
  for (let index = 0; index < items.length; ) {
    const item = items[index]!;
    if (!isOfAnswer(item)) {
      turns.push(otherTurn(item, index));
      index++;
      continue;
    }
    let end = index + 1;
    while (end < items.length && isOfAnswer(items[end]!)) end++;
    const turn = answerTurn(items, index, end, named);
    if (turn) turns.push(turn);
    index = end;
  }
}

/** An answer of shared items. */
interface KnownAnswer extends Pick<NamedTools, 'tools'> {
  readonly items: readonly InputItem[];
  /** The index of the first item, because it is in all places of the turn. */
  readonly index: number;
  readonly turn: Turn | null;
}

/** The answers of shared items, by their first item. */
const knownAnswers = new SharedValues<InputItem, KnownAnswer>();

/**
 * Returns the turn of the items of an answer, from `from` to before `to`; null for readable reasoning without a message or a call. At the
 * end of the input, such a turn would require a model that can continue an answer although there is nothing to continue.
 */
function answerTurn(items: readonly InputItem[], from: number, to: number, { table, tools }: NamedTools): Turn | null {
  const first = items[from]!;
  const known = knownAnswers.get(first);
  const isSame =
    known?.index === from &&
    known.tools === tools &&
    known.items.length === to - from &&
    known.items.every((item, at) => item === items[from + at]);
  if (isSame) return known.turn;
  const answer = new AnswerTurn();
  const own = items.slice(from, to);
  for (const [at, item] of own.entries()) addToAnswer(answer, item, ['input', from + at], table);
  const turn = answer.isEmpty ? null : answer.turn();
  if (own.every(isShared)) {
    share(turn);
    knownAnswers.set(first, { items: own, index: from, tools, turn });
  }
  return turn;
}

/** Whether an item is part of an answer of the model. */
function isOfAnswer(item: InputItem): boolean {
  if (isMessage(item)) return item.role === 'assistant';
  // Results of tools that the caller runs: `function_call_output`, `local_shell_call_output`, `mcp_approval_response`.
  return !/(?:_output|_response)$/.test(item.type);
}

/** The turns of other shared items, with the indexes of the items. */
const knownTurns = new SharedValues<InputItem, { readonly index: number; readonly turn: Turn }>();

/** Returns the turn of an item that is not part of an answer. */
function otherTurn(item: InputItem, index: number): Turn {
  const known = knownTurns.get(item);
  if (known?.index === index) return known.turn;
  const turn = newTurn(item, ['input', index]);
  if (isShared(item)) share(turn);
  return knownTurns.set(item, { index, turn }).turn;
}

function newTurn(item: InputItem, at: OriginalPath): Turn {
  if (isMessage(item)) {
    const { role, content } = item;
    return {
      role: roleOf(role),
      parts: contentParts(content, [...at, 'content']),
      extras: extrasOf(item, OF_MESSAGE),
      at,
    };
  }
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
    const { call_id: toolCallId, output } = item;
    return {
      role: 'tool',
      parts: contentParts(output, [...at, 'output']),
      toolCallId,
      extras: extrasOf(item, OF_OUTPUT),
      at,
    };
  }
  return { role: 'tool', parts: [nativePart(item.type, at)], extras: NO_EXTRAS, at };
}

function addToAnswer(answer: AnswerTurn, item: InputItem, at: OriginalPath, table: ToolTable): void {
  if (isMessage(item)) answer.addMessage(item, at);
  else if (item.type === 'reasoning') answer.addReasoning(item, at);
  else if (item.type === 'function_call' || item.type === 'custom_tool_call') answer.addCall(callOf(item, at, table));
  else answer.addNative(item.type, at);
}

function callOf(item: CallItem, at: OriginalPath, table: ToolTable): ToolCallPart {
  const isFunction = item.type === 'function_call';
  return {
    type: 'tool-call',
    id: item.call_id,
    name: nameOfCall(table, item.name, item.namespace ?? null),
    arguments: isFunction ? item.arguments : JSON.stringify({ [CUSTOM_ARGUMENT]: item.input }),
    at,
    valueAt: [...at, isFunction ? 'arguments' : 'input'],
    extras: extrasOf(item, OF_CALL),
  };
}

const ROLES = { user: 'user', system: 'system', developer: 'developer' } as const;
const roleOf = (role: string): 'user' | 'system' | 'developer' =>
  role === 'system' || role === 'developer' ? ROLES[role] : 'user';

function contentParts(content: MessageItem['content'], at: OriginalPath): readonly ContentPart[] {
  if (typeof content === 'string') return [textPart(content, at)];
  return content.flatMap((part, index) => partOf(part, [...at, index]));
}

function partOf(part: InputPart, at: OriginalPath): ContentPart | readonly ContentPart[] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text, at, valueAt: [...at, 'text'], extras: extrasOf(part, OF_TEXT) };
    case 'refusal':
      return {
        type: 'refusal',
        text: part.refusal,
        at,
        valueAt: [...at, 'refusal'],
        extras: extrasOf(part, OF_REFUSAL),
      };
    case 'input_image': {
      const { image_url: url, detail } = part;
      // A part without a URL refers to an upload at the provider.
      if (url == null) return nativePart(part.type, at);
      const extras = extrasOf(part, OF_IMAGE);
      return { type: 'image', url, ...(detail != null && { detail }), at, valueAt: [...at, 'image_url'], extras };
    }
    case 'input_file': {
      const { file_data: data, file_id: id, file_url: url, filename: name } = part;
      const file: FilePart = {
        type: 'file',
        ...(data != null && { data }),
        ...(id != null && { id }),
        ...(url != null && { url }),
        ...(name != null && { name }),
        at,
        valueAt: [...at, url == null ? 'file_data' : 'file_url'],
        extras: extrasOf(part, OF_FILE),
      };
      return url == null ? file : [nativePart(part.type, at), file];
    }
    default:
      return nativePart(part.type, at);
  }
}
