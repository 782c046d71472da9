import { beyondLimits, type Members, type ToolCallPart, type Turn } from 'signalbox/plugin';
import { isObject, listOf, parseJson, textOf } from './json.ts';

/** Returns the calls of an assistant's turn. */
export const callsIn = ({ parts }: Turn): readonly ToolCallPart[] => parts.filter((part) => part.type === 'tool-call');

/** The maximum number of JSON values in a call's arguments. More JSON values would delay other requests. */
const VALUES_MAX = 100_000;

/**
 * Returns a call's arguments as an object. Text that is no JSON object, such as a model's mistake or an incomplete call, and deeply nested
 * JSON are wrapped in an object, so that an invalid call in the history does not end the conversation.
 */
export function argumentsOf(text: string): Members {
  if (text.trim() === '') return {};
  const args = beyondLimits(text, VALUES_MAX) === null ? parseJson(text) : undefined;
  return isObject(args) ? args : { arguments: text };
}

/**
 * Converts older `function_call` and `function` messages of OpenAI's dialect to tool calls, because most providers support only tool calls.
 */
export function withToolCalls(message: Members): Members {
  const isResult = message.role === 'function';
  if (!isResult && !isObject(message.function_call)) return message;
  const { function_call: older, ...rest } = message;
  if (isResult) {
    const { name, ...result } = rest;
    return { ...result, role: 'tool', tool_call_id: olderId(textOf(name)) };
  }
  if (!isObject(older)) return message;
  const name = textOf(older.name);
  const call = { id: olderId(name), type: 'function', function: { name, arguments: textOf(older.arguments) } };
  return { ...rest, tool_calls: [...listOf(message.tool_calls), call] };
}

/** Returns an ID for a call of the older form, which has no ID, made from the name of its function. */
const olderId = (name: string): string => `function_${name}`;

/** Makes call IDs unique, because callers repeat them. `UniqueIds` is deterministic. */
export class UniqueIds {
  readonly #counts = new Map<string, number>();
  readonly #taken = new Set<string>();

  /** Returns the ID, with a number appended if the ID is already used. */
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
