import { placesOf, type Turn } from '../core/conversation.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { isObject } from '../core/object.ts';

/**
 * Hashes a turn to 64 bits. A long text is hashed as it is, after the other members of the turn. Cache marks do not count:
 * clients move them on with every turn, and write a text with a mark as a list of one.
 */
export function hashOfTurn(turn: Turn, request: ModelRequest, seed: bigint): bigint {
  const { parts } = turn;
  const [only] = parts;
  const isText = parts.length === 1 && only?.type === 'text' && (only.at === only.valueAt || isUnmarked(only.extras));
  // All lone surrogates would hash alike; JSON escapes them.
  if (!isText || !only.text.isWellFormed()) {
    let hash = seed;
    for (const at of placesOf(turn)) {
      const original = request.originalAt(at);
      // Null content means the same as none.
      const plain = isObject(original) && original.content === null ? { ...original, content: undefined } : original;
      const json = JSON.stringify(plain);
      hash = Bun.hash.rapidhash(json.includes(MARK) ? JSON.stringify(plain, withoutMark) : json, hash);
    }
    return hash;
  }
  return Bun.hash.rapidhash(only.text, Bun.hash.rapidhash(headOf(turn), seed));
}

/** The members of a turn beside its text. No two heads of different turns are the same. */
function headOf({ role, name, toolCallId, extras }: Turn): string {
  if (name === undefined && isUnmarked(extras)) {
    if (toolCallId === undefined) return role;
    if (toolCallId.isWellFormed()) return `${role}:${toolCallId}`;
  }
  return JSON.stringify([role, name, toolCallId, extras], withoutMark);
}

const MARK = '"cache_control"';
const withoutMark = (name: string, value: unknown): unknown => (name === 'cache_control' ? undefined : value);

/** Whether the members say nothing but where to cache. */
function isUnmarked(members: object): boolean {
  for (const name in members) if (name !== 'cache_control') return false;
  return true;
}
