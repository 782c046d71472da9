import { type ContentPart, placesOf, type TextPart, type Turn } from '../../core/conversation.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { isObject } from '../../core/object.ts';
import type { OriginalPath } from '../../core/original.ts';

/**
 * Hashes a turn to 64 bits. Its texts and calls are hashed as they are, after its other members. Cache marks do not count:
 * clients move them on with every turn, and write a text with a mark as a list of one.
 * @param whole places whose originals are in the seed. It gets those of this turn: one message may be many turns
 */
export function hashOfTurn(turn: Turn, request: ModelRequest, seed: bigint, whole = new Set<OriginalPath>()): bigint {
  const kinds = plainKinds(turn);
  if (kinds === '') return hashOfOriginals(turn, request, seed, whole);
  let hash = Bun.hash.rapidhash(headOf(turn, kinds), seed);
  for (const part of turn.parts) hash = Bun.hash.rapidhash(plainText(part), hash);
  return hash;
}

/** A letter for each part; '' for no parts, and where one of them has no plain text or says more than it. */
function plainKinds({ parts, at }: Turn): string {
  let kinds = '';
  for (const part of parts) {
    if (part.at !== part.valueAt && !isUnmarked(part.extras)) return '';
    // All lone surrogates would hash alike; JSON escapes them.
    if (part.type === 'text' && isOwnText(part, at) && part.text.isWellFormed()) kinds += 't';
    else if (part.type === 'tool-call' && isWellFormed(part.id, part.name, part.arguments)) kinds += 'c';
    else return '';
  }
  return kinds;
}

/** Whether a text is a part of the turn by itself. That of a document, within a block of its own, lies deeper. */
const isOwnText = ({ valueAt }: TextPart, at: OriginalPath): boolean => valueAt.length <= at.length + 3;

const isWellFormed = (id: string, name: string, text: string): boolean =>
  id.isWellFormed() && name.isWellFormed() && text.isWellFormed();

/** The text of a part of a plain kind. No two calls have the same. */
function plainText(part: ContentPart): string {
  if (part.type === 'text') return part.text;
  return part.type === 'tool-call'
    ? `${part.id.length} ${part.name.length} ${part.id}${part.name}${part.arguments}`
    : '';
}

/** The members of a turn beside its parts. No two heads of different turns are the same. */
function headOf({ role, name, toolCallId, extras }: Turn, kinds: string): string {
  if (name === undefined && isUnmarked(extras)) {
    if (toolCallId === undefined) return `${kinds} ${role}`;
    if (toolCallId.isWellFormed()) return `${kinds} ${role}:${toolCallId}`;
  }
  return JSON.stringify([kinds, role, name, toolCallId, extras], withoutMark);
}

function hashOfOriginals(turn: Turn, request: ModelRequest, seed: bigint, whole: Set<OriginalPath>): bigint {
  let hash = seed;
  for (const at of placesOf(turn)) {
    if (whole.has(at)) continue;
    whole.add(at);
    const original = request.originalAt(at);
    // Null content means the same as none.
    const plain = isObject(original) && original.content === null ? { ...original, content: undefined } : original;
    const json = JSON.stringify(plain);
    hash = Bun.hash.rapidhash(json.includes(MARK) ? JSON.stringify(plain, withoutMark) : json, hash);
  }
  return hash;
}

const MARK = '"cache_control"';
const withoutMark = (name: string, value: unknown): unknown => (name === 'cache_control' ? undefined : value);

/** Whether the members say nothing but where to cache. */
function isUnmarked(members: object): boolean {
  for (const name in members) if (name !== 'cache_control') return false;
  return true;
}
