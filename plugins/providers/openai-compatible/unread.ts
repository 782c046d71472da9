import type { UnreadOutput } from 'signalbox/plugin';
import { isObject, type Json, listOf, textOf } from '../json.ts';
import { OutputFound } from '../unread.ts';
import { detailsText } from './messages.ts';

/** Members of a choice that are not output, or that other parts contain. */
const OF_CHOICE: ReadonlySet<string> = new Set([
  ...['index', 'delta', 'message', 'logprobs', 'usage', 'finish_reason', 'native_finish_reason'],
  ...['stop_reason', 'matched_stop', 'content_filter_results', 'content_filter_offsets'],
]);
const OF_COMPLETION: ReadonlySet<string> = new Set([
  ...OF_CHOICE,
  'text',
  'prompt_logprobs',
  'token_ids',
  'prompt_token_ids',
]);
/** Members of a chunk without choices that are not output. */
const OF_CHUNK: ReadonlySet<string> = new Set([
  ...['usage', 'x_groq', 'timings', 'service_tier', 'system_fingerprint', 'provider'],
  ...['prompt_filter_results', 'content_filter_results'],
]);
/** Members of a message that are handled separately below. */
const OF_MESSAGE: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'reasoning_details', 'tool_calls', 'function_call'],
]);
const OF_CONTENT: ReadonlySet<string> = new Set(['text', 'thinking']);
const TEXT: ReadonlySet<string> = new Set(['text']);
/** The state of a call is counted with the call. */
const OF_CALL: ReadonlySet<string> = new Set(['function', 'extra_content']);
const OF_FUNCTION: ReadonlySet<string> = new Set(['name', 'arguments']);
const OF_DETAIL: ReadonlySet<string> = new Set(['format']);
const OF_TEXT_DETAIL: ReadonlySet<string> = new Set(['format', 'text']);
const OF_SUMMARY_DETAIL: ReadonlySet<string> = new Set(['format', 'summary']);

/**
 * Returns the output of an element of `choices` that no other part contains, with its state: members that the dialect does not know, and
 * known members in another form.
 * @param message the `delta` or `message` that was read; null for none
 * @param reasoning the text of its reasoning, which servers repeat under several names
 */
export function unreadOfChoice(choice: unknown, message: Json | null, reasoning: string): UnreadOutput | undefined {
  if (!isObject(choice)) return new OutputFound().add(choice).last();
  if (isUsual(choice, message, reasoning)) return undefined;
  const isCompletion = message !== null && message !== choice.delta && message !== choice.message;
  const found = new OutputFound(reasoning).add(choice, isCompletion ? OF_COMPLETION : OF_CHOICE);
  for (const other of [choice.delta, choice.message]) if (other !== message) found.add(other);
  if (message) addMessage(found, message, reasoning);
  return found.last();
}

/** Returns the output of an event that is not a regular chunk. */
export const unreadOfChunk = (chunk: Json): UnreadOutput | undefined =>
  Array.isArray(chunk.choices) ? undefined : new OutputFound().add(chunk, OF_CHUNK).last();

/** Whether a choice contains only texts that are read, as most choices do. */
function isUsual(choice: Json, message: Json | null, reasoning: string): boolean {
  for (const name in choice) if (!OF_CHOICE.has(name)) return false;
  if (choice.delta !== undefined && choice.message !== undefined) return false;
  for (const name in message) {
    const value = message[name];
    if (value === null || name === 'role') continue;
    if (typeof value !== 'string') return false;
    if (name !== 'content' && name !== 'refusal' && value !== reasoning) return false;
  }
  return true;
}

function addMessage(found: OutputFound, message: Json, reasoning: string): void {
  for (const name in message) {
    const value = message[name];
    if (name === 'content') addContent(found, value);
    else if (name === 'refusal') addUnlessText(found, value);
    else if (name === 'reasoning_details') addDetails(found, value, detailsText(value) === reasoning);
    else if (name === 'tool_calls') for (const call of listOrOne(value)) addCall(found, call);
    else if (name === 'function_call') addFunction(found, value);
    else if (!OF_MESSAGE.has(name)) found.add({ [name]: value });
  }
}

function addContent(found: OutputFound, value: unknown): void {
  if (!Array.isArray(value)) addUnlessText(found, value);
  for (const item of listOf(value)) {
    found.add(item, OF_CONTENT);
    if (!isObject(item)) continue;
    addUnlessText(found, item.text);
    if (!Array.isArray(item.thinking)) found.add(item.thinking);
    for (const thought of listOf(item.thinking)) {
      found.add(thought, TEXT);
      if (isObject(thought)) addUnlessText(found, thought.text);
    }
  }
}

/** @param isRead whether their text was read as the reasoning */
function addDetails(found: OutputFound, details: unknown, isRead: boolean): void {
  for (const detail of listOrOne(details)) {
    const read = textOf(isObject(detail) ? detail.text : '') === '' ? OF_SUMMARY_DETAIL : OF_TEXT_DETAIL;
    found.add(detail, isRead ? read : OF_DETAIL);
  }
}

function addCall(found: OutputFound, call: unknown): void {
  found.add(call, OF_CALL);
  if (isObject(call)) addFunction(found, call.function);
}

function addFunction(found: OutputFound, value: unknown): void {
  found.add(value, OF_FUNCTION);
  if (!isObject(value)) return;
  addUnlessText(found, value.name);
  // Another part of the answer contains arguments that are text or an object.
  if (!isObject(value.arguments)) addUnlessText(found, value.arguments);
}

/** Adds the value of a member that should be text but is not. */
function addUnlessText(found: OutputFound, value: unknown): void {
  if (typeof value !== 'string') found.add(value);
}

const listOrOne = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);
