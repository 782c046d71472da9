import type { ChatMessage } from 'signalbox/plugin';
import { callsIn, resultCallId } from '../calls.ts';
import { type Json, textOf } from '../json.ts';
import type { Notes } from '../notes.ts';
import { ContentsBuilder, type GeminiPrompt, type SignedCall } from './contents-builder.ts';
import { hasFixedSampling, isFrom } from './generation.ts';
import { dropHint, partsOf, textPart, textsOf } from './parts.ts';
import { signatureIn, signaturesOfDetails } from './signature.ts';

/** Translates the messages. */
export function conversationOf(messages: readonly ChatMessage[], upstream: string, notes: Notes): GeminiPrompt {
  const turns = new ContentsBuilder(isFrom(upstream, 3), notes);
  for (const [at, message] of messages.entries()) {
    const path = `messages[${at}]`;
    const { role, name } = message;
    if (name !== undefined && role !== 'tool' && role !== 'function') notes.drop(`${path}.name`);
    dropHint(message, path, notes);
    addMessage(message, path, turns, notes);
  }
  const conversation = turns.end();
  // Any later message was blank.
  if (hasFixedSampling(upstream) && conversation.contents.at(-1)?.role === 'model') {
    notes.refuse('messages', 'end with an answer, which this model does not go on from');
  }
  return conversation;
}

function addMessage(message: ChatMessage, path: string, turns: ContentsBuilder, notes: Notes): void {
  const { role, content } = message;
  const at = `${path}.content`;
  if (role === 'assistant') {
    const { texts, calls } = answerOf(message, at, notes);
    turns.answer(texts, calls, path);
  } else if (role === 'user') turns.say(partsOf(content, at, notes));
  else if (role === 'system' || role === 'developer') turns.instruct(textsOf(content, at, notes));
  else {
    const id = resultCallId(message);
    // A result without a call becomes user content.
    if (turns.awaits(id)) turns.result(id, resultText(content, at, notes));
    else turns.say(partsOf(content, at, notes));
  }
}

/** A tool's result as one string. */
function resultText(content: ChatMessage['content'], path: string, notes: Notes): string {
  return textsOf(content, path, notes)
    .map(({ text }) => textOf(text))
    .join('');
}

/**
 * The texts and calls of an answer, each signature on its part: a call's on the call, the message's on its text. A
 * signature of unknown origin goes on the first call, if any.
 */
function answerOf(message: ChatMessage, path: string, notes: Notes): { texts: Json[]; calls: readonly SignedCall[] } {
  const texts = [...partsOf(message.content, path, notes), ...textPart(message.refusal ?? '')];
  const signatures = signaturesOfDetails(message);
  const ofMessage = signatures.get('') ?? '';
  const calls = callsIn(message).map((call, at) => ({
    ...call,
    signature: signatureIn(call.original) || (signatures.get(call.id) ?? (at === 0 ? ofMessage : '')),
  }));
  const ofText = signatureIn(message) || (calls.length > 0 ? '' : ofMessage);
  if (ofText !== '') texts.push({ text: '', ...texts.pop(), thoughtSignature: ofText });
  return { texts, calls };
}
