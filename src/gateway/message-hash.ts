import { placesOf, type Turn } from '../core/conversation.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { isObject } from '../core/object.ts';

/** Hashes a turn to 64 bits. A long text is hashed as it is, after the other members of the turn. */
export function hashOfTurn(turn: Turn, request: ModelRequest, seed: bigint): bigint {
  const { role, parts } = turn;
  const [only] = parts;
  const isBare = parts.length === 1 && only?.type === 'text' && only.at === only.valueAt;
  // All lone surrogates would hash alike; JSON escapes them.
  if (!isBare || !only.text.isWellFormed()) {
    let hash = seed;
    for (const at of placesOf(turn)) {
      const original = request.originalAt(at);
      // Null content means the same as none.
      const plain = isObject(original) && original.content === null ? { ...original, content: undefined } : original;
      hash = Bun.hash.rapidhash(JSON.stringify(plain), hash);
    }
    return hash;
  }
  const { name, toolCallId, extras } = turn;
  const isPlain = name === undefined && toolCallId === undefined && isEmpty(extras);
  const head = isPlain ? role : JSON.stringify([role, name, toolCallId, extras]);
  return Bun.hash.rapidhash(only.text, Bun.hash.rapidhash(head, seed));
}

function isEmpty(members: object): boolean {
  for (const _ in members) return false;
  return true;
}
