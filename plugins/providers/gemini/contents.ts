import type { ChatMessage } from 'signalbox/plugin';
import { isObject, type Json, parseJson } from '../json.ts';
import { isFrom } from './generation.ts';
import { type Notes, partsOf, textPart } from './parts.ts';
import { signatureIn, signaturesOfDetails, UNSIGNED } from './signature.ts';

export interface Conversation {
  /** Parts of the system instruction. */
  readonly system: readonly Json[];
  readonly contents: readonly Json[];
}

/** Who speaks in a content. Gemini counts the results of tools as the user's, but wants them by themselves. */
type Speaker = 'user' | 'model' | 'tool';

interface Turn {
  readonly speaker: Speaker;
  readonly parts: Json[];
}

/** The messages as Gemini takes them: the system's words apart, neighbours of one speaker in one content. */
export function conversationOf(messages: readonly ChatMessage[], upstream: string, notes: Notes): Conversation {
  const system: Json[] = [];
  const turns: Turn[] = [];
  const strict = isFrom(upstream, 3);
  const names = new Map<string, string>();
  for (const [at, message] of messages.entries()) {
    const path = `messages[${at}]`;
    const { role } = message;
    if (message.name !== undefined && role !== 'tool' && role !== 'function') notes.dropped.push(`${path}.name`);
    const parts = partsFor(message, path, strict, names, notes);
    if (parts.length === 0) continue;
    const isSystem = role === 'system' || role === 'developer';
    const into = isSystem && turns.length === 0 ? system : turnOf(speakerOf(role), turns).parts;
    for (const part of isSystem && into !== system ? marked(parts) : parts) into.push(part);
  }
  // There must be something to answer.
  if (turns.length === 0 && system.length === 0) notes.refused.push('messages must say something: all are empty');
  if (turns.length === 0) return { system: [], contents: [{ role: 'user', parts: system }] };
  return {
    system,
    contents: turns.map(({ speaker, parts }) => ({ role: speaker === 'model' ? 'model' : 'user', parts })),
  };
}

/** The last turn if it is this speaker's, else a new one. */
function turnOf(speaker: Speaker, turns: Turn[]): Turn {
  const last = turns.at(-1);
  if (last?.speaker === speaker) return last;
  const turn: Turn = { speaker, parts: [] };
  turns.push(turn);
  return turn;
}

function speakerOf(role: ChatMessage['role']): Speaker {
  if (role === 'assistant') return 'model';
  return role === 'tool' || role === 'function' ? 'tool' : 'user';
}

/**
 * System messages amid a conversation keep their place: moved to its head they would say something else, and undo what
 * the provider has cached of it. The mark tells them from the user's words.
 */
const marked = (parts: readonly Json[]): Json[] => [{ text: '<system>' }, ...parts, { text: '</system>' }];

function partsFor(
  message: ChatMessage,
  path: string,
  strict: boolean,
  names: Map<string, string>,
  notes: Notes,
): Json[] {
  if (message.role === 'assistant') {
    for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name);
    return modelParts(message, path, strict, notes);
  }
  const isResult = message.role === 'tool' || message.role === 'function';
  return isResult
    ? resultParts(message, path, strict, names, notes)
    : partsOf(message.content, `${path}.content`, notes);
}

/**
 * What the model said and called, each signature on the part that it came on: a call's own on the call, the message's on
 * its text. Where it is not told which of them it belongs to, it is the step's: on the first call, if there is one.
 */
function modelParts(message: ChatMessage, path: string, strict: boolean, notes: Notes): Json[] {
  const texts = [...partsOf(message.content, `${path}.content`, notes), ...textPart(message.refusal ?? '')];
  const signatures = signaturesOfDetails(message);
  const calls = (message.tool_calls ?? []).map((call) => ({
    part: { functionCall: { ...(strict && { id: call.id }), name: call.function.name, args: argsOf(call.function) } },
    signature: signatureIn(call) || (signatures.get(call.id) ?? ''),
  }));
  const [first] = calls;
  const ofMessage = signatures.get('') ?? '';
  const ofText = signatureIn(message) || (first ? '' : ofMessage);
  if (ofText !== '') texts.push({ text: '', ...texts.pop(), thoughtSignature: ofText });
  if (first?.signature === '') first.signature = ofMessage || (strict ? UNSIGNED : '');
  return [
    ...texts,
    ...calls.map(({ part, signature }) => (signature === '' ? part : { ...part, thoughtSignature: signature })),
  ];
}

/** Arguments must be an object. What is none (a call that broke off) is shown as it is, lest it break the conversation. */
function argsOf({ arguments: text }: { readonly arguments: string }): Json {
  if (text.trim() === '') return {};
  const args = parseJson(text);
  return isObject(args) ? args : { arguments: text };
}

/** The result of a call; in `output`, so that not a digit of it is written anew. */
function resultParts(
  message: ChatMessage,
  path: string,
  strict: boolean,
  names: ReadonlyMap<string, string>,
  notes: Notes,
): Json[] {
  const { tool_call_id: id, content } = message;
  const name = id === undefined ? message.name : (names.get(id) ?? message.name);
  if (name === undefined) notes.refused.push(`${path}.tool_call_id answers no call of the messages before it`);
  let output = '';
  if (typeof content === 'string') output = content;
  else {
    for (const [at, part] of (content ?? []).entries()) {
      if (part.type === 'text') output += part.text;
      else notes.refused.push(`${path}.content[${at}] must be text: it is the result of a tool`);
    }
  }
  return [{ functionResponse: { ...(strict && id !== undefined && { id }), name, response: { output } } }];
}
