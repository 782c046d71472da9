import type { FinishReason, StreamPart } from 'signalbox/plugin';
import { indexOf, isObject, type Json, listOf, objectsIn, textOf } from '../json.ts';
import { meaningsOf } from '../meanings.ts';
import { malformed, unreadParts } from '../parts.ts';
import { detailsText } from './messages.ts';
import { ToolCalls } from './tool-calls.ts';
import { unreadOfChoice } from './unread.ts';

/** The maximum number of choices in one answer, as in the request. */
const CHOICES_MAX = 128;

interface MessageContext {
  readonly answerId: unknown;
  readonly reasoning: string;
  readonly details: readonly Json[];
}

/** Returns the message of a choice, or its next piece. A completion has only a text. */
function messageIn({ delta, message, text }: Json): Json | null {
  if (isObject(delta)) return delta;
  if (isObject(message)) return message;
  return typeof text === 'string' ? { content: text } : null;
}

const reasoningIn = (message: Json | null, details: readonly Json[]): string =>
  message === null
    ? ''
    : textOf(message.reasoning_content) ||
      textOf(message.reasoning) ||
      (details.length > 0 ? detailsText(details) : '');

/** Reads the choices of an answer or of its chunks. The reader reads a whole message like one large delta. */
export class ChoiceReader {
  /** The calls of each choice; null before the first call. */
  #calls: Map<number, ToolCalls> | null = null;

  get hasCalls(): boolean {
    return this.#calls !== null;
  }

  /** Adds the parts of one element of `choices`. @param answerId the ID of the answer, if it has one */
  read(choice: unknown, answerId: unknown, parts: StreamPart[]): void {
    if (!isObject(choice)) {
      parts.push(...unreadParts(unreadOfChoice(choice, null, '')));
      return;
    }
    const index = indexOf(choice.index);
    const message = messageIn(choice);
    const details = objectsIn(message?.reasoning_details);
    const reasoning = reasoningIn(message, details);
    const unread = unreadOfChoice(choice, message, reasoning);
    if (unread) parts.push(...unreadParts(unread, index));
    if (message) this.#message(index, message, { answerId, reasoning, details }, parts);
    logprobs(index, choice.logprobs, parts);
    const raw = textOf(choice.finish_reason);
    // xAI sends an empty finish reason with unstreamed tool calls.
    const isCall = choice.finish_reason === '' && message === choice.message && this.#calls?.has(index) === true;
    if (raw !== '' || isCall) parts.push(this.#finish(index, raw, stopOf(choice)));
  }

  #message(choice: number, message: Json, { answerId, reasoning, details }: MessageContext, parts: StreamPart[]): void {
    if (reasoning !== '') parts.push({ type: 'reasoning', choice, text: reasoning });
    if (details.length > 0) parts.push({ type: 'state', choice, details });
    content(choice, message.content, parts);
    const refusal = textOf(message.refusal);
    if (refusal !== '') parts.push({ type: 'refusal', choice, text: refusal });
    if (isObject(message.extra_content)) parts.push({ type: 'state', choice, extra: message.extra_content });
    for (const call of listOf(message.tool_calls)) {
      add(this.#callsOf(choice, answerId).read(call), parts);
      // After a failure, such as too many calls, the reader reads nothing more.
      if (parts.at(-1)?.type === 'failure') return;
    }
    if (message.function_call) add(this.#callsOf(choice, answerId).readFunctionCall(message.function_call), parts);
  }

  #finish(choice: number, raw: string, stop: string | undefined): StreamPart {
    if (BREAKS.has(raw)) {
      const message = `the upstream broke the answer off: ${raw}`;
      return { type: 'failure', failure: { kind: 'overloaded', message } };
    }
    const calls = this.#calls?.get(choice);
    if (calls?.nameless) return malformed('a tool call has no name');
    const reason = finishReason(raw, calls !== undefined);
    if (stop === undefined || reason !== 'stop') return { type: 'finish', choice, reason, raw };
    return { type: 'finish', choice, reason, raw, stop };
  }

  #callsOf(choice: number, answerId: unknown): ToolCalls {
    this.#calls ??= new Map();
    let calls = this.#calls.get(choice);
    if (!calls) {
      calls = new ToolCalls(choice, textOf(answerId));
      // This check only limits the memory; the host rejects choices beyond the requested number.
      if (this.#calls.size < CHOICES_MAX) this.#calls.set(choice, calls);
    }
    return calls;
  }
}

/**
 * Returns the stop sequence that ended a choice, as vLLM and SGLang report it. If the stop reason of a choice is a number, it is the ID of
 * a token.
 */
const stopOf = ({ stop_reason, matched_stop }: Json): string | undefined =>
  textOf(stop_reason) || textOf(matched_stop) || undefined;

function add(part: StreamPart | null, parts: StreamPart[]): void {
  if (part) parts.push(part);
}

/** Reads the content of a message, which is a string, or with some providers a list of text and thinking parts. */
function content(choice: number, value: unknown, parts: StreamPart[]): void {
  if (typeof value === 'string') {
    if (value !== '') parts.push({ type: 'text', choice, text: value });
    return;
  }
  for (const item of listOf(value)) {
    if (!isObject(item)) continue;
    const text = textOf(item.text);
    if (text !== '') parts.push({ type: 'text', choice, text });
    for (const thought of listOf(item.thinking)) {
      const thinking = isObject(thought) ? textOf(thought.text) : '';
      if (thinking !== '') parts.push({ type: 'reasoning', choice, text: thinking });
    }
  }
}

function logprobs(choice: number, value: unknown, parts: StreamPart[]): void {
  if (!isObject(value)) return;
  const content = listOf(value.content);
  const refusal = listOf(value.refusal);
  if (content.length + refusal.length > 0) parts.push({ type: 'logprobs', choice, content, refusal });
}

const REASONS = meaningsOf<FinishReason>([
  ['stop', ['stop']],
  ['length', ['length', 'max_tokens', 'model_length', 'model_context_window_exceeded']],
  ['tool_calls', ['tool_calls', 'function_call']],
  // Z.ai reports the finish reason `sensitive`.
  ['content_filter', ['content_filter', 'sensitive']],
]);

/** Finish reasons of some servers for an answer that broke off. */
const BREAKS: ReadonlySet<string> = new Set(['error', 'insufficient_system_resource', 'network_error']);

/**
 * Converts a finish reason to OpenAI's; an unknown finish reason counts as a normal stop. A stop with tool calls becomes `tool_calls`,
 * which not every server reports.
 */
function finishReason(raw: string, calls: boolean): FinishReason {
  const reason = REASONS.get(raw) ?? 'stop';
  return reason === 'stop' && calls ? 'tool_calls' : reason;
}
