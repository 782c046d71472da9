import type { Turn } from '../core/conversation.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { isObject } from '../core/object.ts';

/** 64 bits of a turn. A long text goes in as it is, behind the other members of the turn. */
export function hashOfTurn(turn: Turn, request: ModelRequest, seed: bigint): bigint {
  const { role, parts, at } = turn;
  const [only] = parts;
  const isBare = parts.length === 1 && only?.type === 'text' && only.at === only.valueAt;
  // Half a surrogate pair would be read like every other half; JSON has its digits.
  if (!isBare || !only.text.isWellFormed()) {
    const original = request.originalAt(at);
    // A message without content says the same whether it has null there or nothing.
    const said = isObject(original) && original.content === null ? { ...original, content: undefined } : original;
    return Bun.hash.rapidhash(JSON.stringify(said), seed);
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
