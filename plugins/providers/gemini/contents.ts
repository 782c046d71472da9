import { type ModelRequest, pathText, type Turn } from 'signalbox/plugin';
import { callsIn } from '../calls.ts';
import { type Json, textOf } from '../json.ts';
import type { Notes } from '../notes.ts';
import { ContentsBuilder, type GeminiPrompt, type SignedCall } from './contents-builder.ts';
import { hasFixedSampling, isFrom } from './generation.ts';
import { dropHint, geminiParts, textsOf } from './parts.ts';
import { signatureIn, signaturesOfDetails } from './signature.ts';

/** Translates the turns of a conversation to Gemini's contents. */
export function promptOf(request: ModelRequest, upstream: string, notes: Notes): GeminiPrompt {
  const builder = new ContentsBuilder(isFrom(upstream, 3), notes, request.names.turns);
  for (const turn of request.conversation.turns) {
    if (turn.name !== undefined && turn.role !== 'tool') notes.drop(`${pathText(turn.at)}.name`);
    dropHint(turn, notes);
    addTurn(turn, builder, notes);
  }
  const prompt = builder.end();
  // The last content is an answer: messages after it, if any, were blank.
  if (hasFixedSampling(upstream) && prompt.contents.at(-1)?.role === 'model') {
    notes.refuse(request.names.turns, 'end with an assistant message, which this model cannot continue');
  }
  return prompt;
}

function addTurn(turn: Turn, builder: ContentsBuilder, notes: Notes): void {
  const { role, parts, toolCallId: id } = turn;
  if (role === 'assistant') {
    const { texts, calls } = answerOf(turn, notes);
    builder.answer(texts, calls, pathText(turn.at));
  } else if (role === 'user') builder.say(geminiParts(parts, notes));
  else if (role === 'system' || role === 'developer') builder.instruct(textsOf(parts, notes));
  // A tool result without a call becomes content of the user.
  else if (builder.awaits(id)) {
    const texts = textsOf(parts, notes).map(({ text }) => textOf(text));
    builder.result(id, texts.join(''));
  } else builder.say(geminiParts(parts, notes));
}

/**
 * Returns the texts and calls of an answer, each signature on its part: a call's signature on the call, the message's signature on its
 * text. A signature of unknown origin goes on the first call, if the answer has a call.
 */
function answerOf(turn: Turn, notes: Notes): { texts: Json[]; calls: readonly SignedCall[] } {
  const texts = geminiParts(turn.parts, notes);
  const signatures = signaturesOfDetails(turn);
  const ofTurn = signatures.get('') ?? '';
  const calls = callsIn(turn).map((call, at) => ({
    ...call,
    signature: signatureIn(call.extras) || (signatures.get(call.id) ?? (at === 0 ? ofTurn : '')),
  }));
  const ofMessage = signatureIn(turn.extras);
  // The OpenAI Agents SDK copies the extra members of a call to its message.
  const isCopy = calls.some(({ signature }) => signature === ofMessage);
  const ofText = (isCopy ? '' : ofMessage) || (calls.length > 0 ? '' : ofTurn);
  if (ofText !== '') texts.push({ text: '', ...texts.pop(), thoughtSignature: ofText });
  return { texts, calls };
}
