import type { ChatMessage } from '../core/chat-request.ts';

/** 64 bits of a message. A long text goes in as it is, behind what else the message says with a number in the text's place. */
export function hashOfMessage(message: ChatMessage, seed: bigint): bigint {
  const { content, role } = message;
  // Half a surrogate pair would be read like every other half; JSON has its digits.
  if (typeof content !== 'string' || !content.isWellFormed()) {
    // Without content a message says the same whether it has null there or nothing.
    const said = content === null ? { ...message, content: undefined } : message;
    return Bun.hash.rapidhash(JSON.stringify(said), seed);
  }
  const head = isPlain(message) ? role : JSON.stringify({ ...message, content: 0 });
  return Bun.hash.rapidhash(content, Bun.hash.rapidhash(head, seed));
}

/** Whether it has a role and its content, and nothing else. */
function isPlain(message: ChatMessage): boolean {
  for (const name in message) if (name !== 'role' && name !== 'content') return false;
  return true;
}
