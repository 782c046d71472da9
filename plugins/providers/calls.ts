import { beyondLimits, type ChatMessage, type Members } from 'signalbox/plugin';
import { isObject, parseJson, textOf } from './json.ts';

/** A tool call of an earlier answer. */
export interface EarlierCall {
  readonly id: string;
  readonly name: string;
  /** The model's text: JSON, unless it broke off. */
  readonly arguments: string;
  /** The call as the caller sent it, with any state in it. */
  readonly original: Members;
}

/** The calls of an assistant's message: `tool_calls` and the older `function_call`. */
export function callsIn(message: ChatMessage): readonly EarlierCall[] {
  const calls = (message.tool_calls ?? []).map((call): EarlierCall => {
    const { name, arguments: text } = call.function;
    return { id: call.id, name, arguments: text, original: call };
  });
  const older = olderCall(message);
  return older ? [...calls, older] : calls;
}

/** The older `function_call` of a message, or null. */
function olderCall({ function_call: call }: Members): EarlierCall | null {
  if (!isObject(call)) return null;
  const name = textOf(call.name);
  return { id: olderId(name), name, arguments: textOf(call.arguments), original: call };
}

/** The ID of the call that a `tool` or older `function` message answers; undefined without one. */
export function resultCallId({ role, name = '', tool_call_id: id }: ChatMessage): string | undefined {
  return role === 'function' ? olderId(name) : id;
}

/** An older call has no ID: its function's name replaces it. */
const olderId = (name: string): string => `function_${name}`;

/** The most JSON values of a call's arguments: more would delay other requests. */
const VALUES_MAX = 100_000;

/**
 * A call's arguments as an object. Other text (a model's mistake, a call that broke off), or one nested too deep to
 * serialize, is wrapped, so that an invalid call in the history does not end the conversation.
 */
export function argumentsOf(text: string): Members {
  if (text.trim() === '') return {};
  const args = beyondLimits(text, VALUES_MAX) === null ? parseJson(text) : undefined;
  return isObject(args) ? args : { arguments: text };
}

/** Converts older `function_call` and `function` messages to tool calls: most services support no others. */
export function withToolCalls(message: ChatMessage): ChatMessage {
  const { function_call: _call, ...rest }: Members & ChatMessage = message;
  if (message.role === 'function') {
    const { name: _, ...result } = rest;
    return { ...result, role: 'tool', tool_call_id: resultCallId(message) };
  }
  const older = olderCall(message);
  if (!older) return message;
  const { id, name, arguments: text } = older;
  const call = { id, type: 'function', function: { name, arguments: text } } as const;
  return { ...rest, tool_calls: [...(message.tool_calls ?? []), call] };
}

/** Makes call IDs unique, because callers repeat theirs. Deterministic. */
export class UniqueIds {
  readonly #counts = new Map<string, number>();
  readonly #taken = new Set<string>();

  /** Returns the ID, with a number appended if it is taken. */
  next(id: string): string {
    let own: string;
    do {
      const count = (this.#counts.get(id) ?? 0) + 1;
      this.#counts.set(id, count);
      own = count === 1 ? id : `${id}_${count}`;
    } while (this.#taken.has(own));
    this.#taken.add(own);
    return own;
  }
}
