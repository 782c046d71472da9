import { beyondLimits, type ChatMessage, type Members } from 'signalbox/plugin';
import { isObject, parseJson, textOf } from './json.ts';

/** A call of a tool that an earlier answer made. */
export interface MadeCall {
  readonly id: string;
  readonly name: string;
  /** What the model wrote: a JSON text, if it got so far. */
  readonly arguments: string;
  /** The call as the caller sent it, with the state that it may bear. */
  readonly sent: Members;
}

/** The calls of an assistant's message, in today's form and in the older one. */
export function callsIn(message: ChatMessage): readonly MadeCall[] {
  const calls = (message.tool_calls ?? []).map((call): MadeCall => {
    const { name, arguments: text } = call.function;
    return { id: call.id, name, arguments: text, sent: call };
  });
  const older = olderCall(message);
  return older ? [...calls, older] : calls;
}

/** The call that a message makes in the older form; null for none. */
function olderCall({ function_call: call }: Members): MadeCall | null {
  if (!isObject(call)) return null;
  const name = textOf(call.name);
  return { id: olderId(name), name, arguments: textOf(call.arguments), sent: call };
}

/** The ID of the call that a `tool` message, or an older `function` one, answers; undefined where it names none. */
export function answeredId({ role, name = '', tool_call_id: id }: ChatMessage): string | undefined {
  return role === 'function' ? olderId(name) : id;
}

/** Calls in the older form have no ID: their function's name stands for it. */
const olderId = (name: string): string => `function_${name}`;

/** Values of a call's arguments at most: what is dear to parse would hold up everybody else. */
const VALUES_MAX = 100_000;

/**
 * A call's arguments as an object. What is none (a model's mistake, a call that broke off), or nests too deep to be
 * printed again, is kept for the model to see: its history must not end the conversation.
 */
export function argumentsOf(text: string): Members {
  if (text.trim() === '') return {};
  const args = beyondLimits(text, VALUES_MAX) === null ? parseJson(text) : undefined;
  return isObject(args) ? args : { arguments: text };
}

/** The message with its calls, or what it answers, in today's form: most services know no other. */
export function inTodaysForm(message: ChatMessage): ChatMessage {
  const { function_call: _call, ...rest }: Members & ChatMessage = message;
  if (message.role === 'function') {
    const { name: _, ...result } = rest;
    return { ...result, role: 'tool', tool_call_id: answeredId(message) };
  }
  const older = olderCall(message);
  if (!older) return message;
  const { id, name, arguments: text } = older;
  const call = { id, type: 'function', function: { name, arguments: text } } as const;
  return { ...rest, tool_calls: [...(message.tool_calls ?? []), call] };
}

/** IDs of calls, each given once: callers repeat theirs. The same calls always get the same ones. */
export class OwnIds {
  readonly #counts = new Map<string, number>();
  readonly #taken = new Set<string>();

  /** The ID itself where it is free, else with a number behind it. */
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
