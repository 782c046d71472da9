import type { ChatMessage } from 'signalbox/plugin';
import { answeredId, callsIn } from '../calls.ts';
import { type Json, textOf } from '../json.ts';
import type { Notes } from '../notes.ts';
import { isFixed, isFrom } from './generation.ts';
import { dropHint, partsOf, textPart, textsOf } from './parts.ts';
import { signatureIn, signaturesOfDetails } from './signature.ts';
import { type Conversation, type SignedCall, Turns } from './turns.ts';

/** The messages as Gemini takes them. */
export function conversationOf(messages: readonly ChatMessage[], upstream: string, notes: Notes): Conversation {
  const turns = new Turns(isFrom(upstream, 3), notes);
  for (const [at, message] of messages.entries()) {
    const path = `messages[${at}]`;
    const { role, name } = message;
    if (name !== undefined && role !== 'tool' && role !== 'function') notes.drop(`${path}.name`);
    dropHint(message, path, notes);
    addMessage(message, path, turns, notes);
  }
  const conversation = turns.end();
  // What came behind it was blank.
  if (isFixed(upstream) && conversation.contents.at(-1)?.role === 'model') {
    notes.refuse('messages', 'end with an answer, which this model does not go on from');
  }
  return conversation;
}

function addMessage(message: ChatMessage, path: string, turns: Turns, notes: Notes): void {
  const { role, content } = message;
  const at = `${path}.content`;
  if (role === 'assistant') {
    const { texts, calls } = answerOf(message, at, notes);
    turns.answer(texts, calls, path);
  } else if (role === 'user') turns.say(partsOf(content, at, notes));
  else if (role === 'system' || role === 'developer') turns.instruct(textsOf(content, at, notes));
  else {
    const id = answeredId(message);
    // What answers no call is said as it is.
    if (turns.awaits(id)) turns.result(id, writtenIn(content, at, notes));
    else turns.say(partsOf(content, at, notes));
  }
}

/** The result of a tool, in one piece. */
function writtenIn(content: ChatMessage['content'], path: string, notes: Notes): string {
  return textsOf(content, path, notes)
    .map(({ text }) => textOf(text))
    .join('');
}

/**
 * What the model said and called, each signature on the part that it came on: a call's own on the call, the message's on
 * its text. Where it is not told which of them it belongs to, it is the step's: on the first call, if there is one.
 */
function answerOf(message: ChatMessage, path: string, notes: Notes): { texts: Json[]; calls: readonly SignedCall[] } {
  const texts = [...partsOf(message.content, path, notes), ...textPart(message.refusal ?? '')];
  const signatures = signaturesOfDetails(message);
  const ofMessage = signatures.get('') ?? '';
  const calls = callsIn(message).map((call, at) => ({
    ...call,
    signature: signatureIn(call.sent) || (signatures.get(call.id) ?? (at === 0 ? ofMessage : '')),
  }));
  const ofText = signatureIn(message) || (calls.length > 0 ? '' : ofMessage);
  if (ofText !== '') texts.push({ text: '', ...texts.pop(), thoughtSignature: ofText });
  return { texts, calls };
}
