import { isObject, type Json, listOf, parseJson } from '../../../plugins/providers/json.ts';
import { claudeOf } from './claude.ts';

/** A message as the API reads it: adjacent messages of one role are merged, and a text becomes a list of one block. */
export interface Message {
  readonly role: unknown;
  readonly blocks: readonly Json[];
}

export function messagesOf({ messages }: Json): readonly Message[] {
  const merged: Message[] = [];
  for (const { role, content } of listOf(messages).filter(isObject)) {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).filter(isObject);
    const last = merged.at(-1);
    if (last === undefined || last.role !== role) merged.push({ role, blocks });
    else merged[merged.length - 1] = { role, blocks: [...last.blocks, ...blocks] };
  }
  return merged;
}

/** Makes a signature that the fake can verify later: a hash of the visible text, the model and everything before the block. */
export function signatureOf(request: Json, thinking: string): string {
  const words = { model: request.model, thinking: digest(thinking), prefix: prefixOf(request, Infinity) };
  return Buffer.from(JSON.stringify({ ...words, seal: sealOf(words) })).toString('base64');
}

/** Returns why this server did not issue a block of message `index`; null if it issued the block. */
export function forgeryOf(request: Json, index: number, { thinking, signature }: Json): string | null {
  const issued = parseJson(Buffer.from(String(signature), 'base64').toString());
  if (!isObject(issued)) return 'Invalid `signature` in `thinking` block';
  const { seal, ...words } = issued;
  if (seal !== sealOf(words) || words.thinking !== digest(thinking)) return 'Invalid `signature` in `thinking` block';
  // The API silently drops thinking blocks of another model from the prompt (build-with-claude/preserved-thinking).
  const isBound = words.model === request.model && claudeOf(String(words.model)).bindsThinking;
  if (!isBound || words.prefix === prefixOf(request, index)) return null;
  return 'Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
}

/** The prompt up to a message, without cache marks. */
function prefixOf(request: Json, messages: number): string {
  const { system, tools } = request;
  const words = [system ?? null, tools ?? null, messagesOf(request).slice(0, messages)];
  return digest(JSON.stringify(words, (name, value) => (name === 'cache_control' ? undefined : value)));
}

const sealOf = (words: Json): string => digest(`signed by the fake: ${JSON.stringify(words)}`);

function digest(text: unknown): string {
  return new Bun.CryptoHasher('sha256').update(String(text)).digest('base64').slice(0, 16);
}
