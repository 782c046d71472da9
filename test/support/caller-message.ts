import type { StreamPart } from '../../src/contract/parts.ts';
import type { ChatMessage } from '../../src/core/api/chat-request.ts';
import type { Receipt } from '../../src/core/decision/answer.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import { CompletionWriter } from '../../src/dialects/openai-chat/completion.ts';

/** A receipt with only the members that writers of answers read. */
export const RECEIPT = {
  usage: plainUsage(1, 1),
  saved: 0,
  platform: { routed_model: 'm', estimated: false, attempts: [] },
} as unknown as Receipt;

/** Builds the message of a complete answer as a client of OpenAI's API receives it and sends it back. */
export function callerMessage(parts: readonly StreamPart[]): ChatMessage {
  const writer = new CompletionWriter({ decision: 1, created: 1, model: 'm' });
  writer.write(parts);
  return JSON.parse(writer.end(RECEIPT)).choices[0].message;
}
