import { ListValues, type Members } from 'signalbox/plugin';
import { nineLetters } from '../call-ids.ts';
import { withToolCalls } from '../calls.ts';
import { isObject, listOf, mapObjects, textOf } from '../json.ts';
import type { DialectSettings } from './settings.ts';
import { systemFirst } from './system-first.ts';

/** The members that servers use for the reasoning of an answer. */
const REASONING: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning', 'reasoning_details']);

/** Members of a message that every server supports. */
const KNOWN: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'tool_calls',
  'tool_call_id',
  'function_call',
  // The adapter translates members with reasoning, or another setting controls them.
  ...REASONING,
  'refusal',
  'cache_control',
]);

interface MessageContext {
  readonly settings: DialectSettings;
  /** Whether the model reasons. */
  readonly reasons: boolean;
  readonly dropped: string[];
}

/**
 * Translates the messages for a server. `messagesFor` adds the paths of dropped members to `dropped`. `messagesFor` copies only the
 * messages that it changes, which in a long conversation are very few. `messagesFor` leaves out an answer without text, calls or state,
 * even if it contains reasoning, because servers reject it. The list is valid until the next call.
 */
export function messagesFor(messages: unknown, context: MessageContext): readonly Members[] {
  const list = listOf(messages);
  const known = context.reasons ? ofReasoners : ofOthers;
  const sent = known.keeps(list)
    ? newMessagesFor(list, known, context)
    : mapObjects(list, (message, index) => sentFor(message, index, context));
  return context.settings.system_messages === 'first' ? systemFirst(sent) : sent;
}

/** A message as a server receives it, null to leave it out, and the paths of its dropped members, which are reported with each request. */
interface Translation {
  readonly message: Members | null;
  readonly dropped: readonly string[];
}

/** The translations of messages for models that reason and for other models, by the settings. They do not depend on other messages. */
const ofReasoners = new ListValues<unknown, Translation>();
const ofOthers = new ListValues<unknown, Translation>();
const sentLists = new ListValues<Translation, Members>();
const droppedLists = new ListValues<Translation, string>();

/** Translates only the messages that earlier requests of the conversation did not have. */
function newMessagesFor(list: readonly unknown[], known: typeof ofOthers, context: MessageContext): readonly Members[] {
  const { settings, reasons } = context;
  const translations = known.of(list, settings, (message, index, values) => {
    if (!isObject(message)) return;
    const dropped: string[] = [];
    values.push({ message: sentFor(message, index, { settings, reasons, dropped }), dropped });
  });
  for (const path of droppedLists.of(translations, null, addDropped)) context.dropped.push(path);
  return sentLists.of(translations, null, addSent);
}

function addSent({ message }: Translation, _: number, messages: Members[]): void {
  if (message !== null) messages.push(message);
}

function addDropped({ dropped }: Translation, _: number, paths: string[]): void {
  for (const path of dropped) paths.push(path);
}

/** Returns a message as a server receives it; null to leave it out. */
function sentFor(message: Members, index: number, context: MessageContext): Members | null {
  const translated = messageFor(message, index, context);
  if (isBare(translated)) return null;
  return isTextless(translated, context.settings) ? { ...translated, content: '' } : translated;
}

/** Members that do not make an answer worth keeping by themselves. */
const BARE: ReadonlySet<string> = new Set(['role', 'content', 'reasoning_content', 'reasoning']);

/** Whether a message is an answer without text, calls or state. */
function isBare(message: Members): boolean {
  if (message.role !== 'assistant' || message.content != null) return false;
  for (const name in message) if (!BARE.has(name)) return false;
  return true;
}

/** Whether the server requires an empty text for an answer without content. */
const isTextless = ({ role, content }: Members, { empty_content }: DialectSettings): boolean =>
  role === 'assistant' && content == null && empty_content === 'empty_text';

function messageFor(original: Members, index: number, context: MessageContext): Members {
  const { settings, dropped } = context;
  const message = withToolCalls(original);
  let changed: Record<string, unknown> | null = null;
  for (const name in message) {
    const value = message[name];
    // Every message has a role, and nearly every message has text or null as content. The adapter sends a role, and content that is text or
    // null, unchanged.
    if (name === 'role' || (name === 'content' && !Array.isArray(value))) continue;
    if (isOmitted(name, value, settings)) {
      if (value !== null && isReported(name)) dropped.push(`messages[${index}].${name}`);
      changed ??= { ...message };
      delete changed[name];
      continue;
    }
    const sent = memberFor(name, value, index, context);
    if (sent === value) continue;
    changed ??= { ...message };
    changed[name] = sent;
  }
  const own = ownMembers(message, context);
  return own === null ? (changed ?? message) : { ...(changed ?? message), ...own };
}

/** Returns the members of a message that a server expects in another form; null for none. */
function ownMembers(message: Members, { settings, reasons }: MessageContext): Members | null {
  if (message.role === 'developer') return { role: settings.developer_role };
  if (message.role !== 'assistant') return null;
  const isRefusalMoved = settings.unknown_members === 'left_out' && message.refusal && message.content == null;
  const reasoning = reasons ? reasoningFor(message, settings) : null;
  return isRefusalMoved ? { content: message.refusal, ...reasoning } : reasoning;
}

/** Whether to omit a member of a message. Clients send answers back unchanged, and some servers reject members such as `refusal: null`. */
function isOmitted(name: string, value: unknown, settings: DialectSettings): boolean {
  if (value === null || REASONING.has(name)) return true;
  if (name === 'cache_control') return settings.cache_hints === 'left_out';
  if (name === 'name') return settings.leave_out.includes('name');
  return settings.unknown_members === 'left_out' && (name === 'refusal' || !KNOWN.has(name));
}

/** Whether the dropping of a member is reported. The adapter does not report that it dropped members of answers or translated members. */
const isReported = (name: string): boolean => name === 'cache_control' || name === 'name' || !KNOWN.has(name);

/** @param message the index of the message */
function memberFor(name: string, value: unknown, message: number, context: MessageContext): unknown {
  const { settings } = context;
  if (name === 'content') return partsFor(listOf(value), message, context);
  if (name === 'tool_call_id') return callIdFor(textOf(value), settings);
  if (name === 'tool_calls') return keepsCalls(settings) ? value : callsFor(value, settings);
  return value;
}

function partsFor(parts: readonly unknown[], message: number, context: MessageContext): readonly Members[] {
  const { settings, dropped } = context;
  return mapObjects(parts, (part, index) => {
    if (part.type === 'refusal' && settings.unknown_members === 'left_out') return { type: 'text', text: part.refusal };
    return bearsHint(part, settings) ? withoutHint(part, `messages[${message}].content[${index}]`, dropped) : part;
  });
}

/** Most servers accept calls unchanged. */
const keepsCalls = (settings: DialectSettings): boolean =>
  settings.tool_call_ids === 'as_they_are' && settings.unknown_members === 'sent';

function callsFor(calls: unknown, settings: DialectSettings): readonly Members[] {
  return mapObjects(listOf(calls), (call) => {
    const id = callIdFor(textOf(call.id), settings);
    if (settings.unknown_members === 'left_out') return { id, type: call.type, function: call.function };
    return id === call.id ? call : { ...call, id };
  });
}

const callIdFor = (id: string, settings: DialectSettings): string =>
  settings.tool_call_ids === 'nine_letters' ? nineLetters(id) : id;

/** Returns the tools, without cache hints if the server does not support them. */
export function toolsFor(tools: unknown, settings: DialectSettings, dropped: string[]): readonly Members[] {
  return mapObjects(listOf(tools), (tool, index) => {
    const own = bearsHint(tool, settings) ? withoutHint(tool, `tools[${index}]`, dropped) : tool;
    const { function: fn } = tool;
    // Some clients put the cache hint inside `function`.
    if (!isObject(fn) || !bearsHint(fn, settings)) return own;
    return { ...own, function: withoutHint(fn, `tools[${index}].function`, dropped) };
  });
}

/** Whether an object has a cache hint that the server does not support. */
const bearsHint = (owner: Members, { cache_hints }: DialectSettings): boolean =>
  cache_hints !== 'sent' && 'cache_control' in owner;

function withoutHint(owner: Members, at: string, dropped: string[]): Members {
  const { cache_control: hint, ...rest } = owner;
  if (hint != null) dropped.push(`${at}.cache_control`);
  return rest;
}

/** Returns the reasoning of an answer in the member that its server expects; null for none. */
function reasoningFor(message: Members, { reasoning_history: form }: DialectSettings): Members | null {
  if (form === 'left_out') return null;
  const { reasoning_details: details } = message;
  if (form === 'reasoning_details' && Array.isArray(details) && details.length > 0) {
    return { reasoning_details: details };
  }
  const text = textOf(message.reasoning_content) || textOf(message.reasoning) || detailsText(details);
  // Some servers treat an empty text as missing.
  if (form === 'demanded') return { reasoning_content: text || ' ' };
  if (text === '') return null;
  return form === 'reasoning_content' ? { reasoning_content: text } : { reasoning: text };
}

/** Returns the readable text in a list of `reasoning_details`. */
export function detailsText(details: unknown): string {
  let text = '';
  for (const detail of listOf(details)) if (isObject(detail)) text += textOf(detail.text) || textOf(detail.summary);
  return text;
}
