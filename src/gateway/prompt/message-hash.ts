import { isObject } from '../../core/json/object.ts';
import type { OriginalPath } from '../../core/json/original.ts';
import { isShared, SharedValues } from '../../core/json/shared-values.ts';
import { type ContentPart, placesOf, type TextPart, type Turn } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';

/**
 * Hashes a turn to 64 bits. Its texts and calls are hashed unchanged, after its other members. Cache marks do not count, because clients
 * move them with every turn and write a text with a mark as a list with one entry.
 * @param whole places whose originals are already in the seed. The places of this turn are added to the set, because one message may be
 * many turns.
 */
export function hashOfTurn(turn: Turn, request: ModelRequest, seed: bigint, whole = new Set<OriginalPath>()): bigint {
  const known = knownHashes.get(turn);
  if (known !== undefined) for (const one of known) if (one.seed === seed) return one.hash;
  const kinds = plainKinds(turn);
  if (kinds === '') return hashOfOriginals(turn, request, seed, whole);
  let hash = Bun.hash.rapidhash(headOf(turn, kinds), seed);
  for (const part of turn.parts) hash = Bun.hash.rapidhash(plainText(part), hash);
  if (isShared(turn)) knownHashes.set(turn, [{ seed, hash }, ...(known?.slice(0, SEEDS_MAX - 1) ?? [])]);
  return hash;
}

/**
 * The last hashes of shared turns. A hash is the seed of the next turn, so an equal seed means that all turns before are the same. Each
 * request hashes its turns with up to two seeds.
 */
const knownHashes = new SharedValues<Turn, readonly { readonly seed: bigint; readonly hash: bigint }[]>();
const SEEDS_MAX = 2;

/** Returns a letter for each part; '' if there are no parts, or if a part has no plain text or has members besides its text. */
function plainKinds({ parts, at }: Turn): string {
  let kinds = '';
  for (const part of parts) {
    if (part.at !== part.valueAt && !isUnmarked(part.extras)) return '';
    // Lone surrogates would all have the same hash, so such texts are hashed as JSON, which escapes them.
    if (part.type === 'text' && isOwnText(part, at) && part.text.isWellFormed()) kinds += 't';
    else if (part.type === 'tool-call' && isWellFormed(part.id, part.name, part.arguments)) kinds += 'c';
    else return '';
  }
  return kinds;
}

/** Whether a text is itself a part of the turn. The text of a document is nested deeper, in a block. */
const isOwnText = ({ valueAt }: TextPart, at: OriginalPath): boolean => valueAt.length <= at.length + 3;

const isWellFormed = (id: string, name: string, text: string): boolean =>
  id.isWellFormed() && name.isWellFormed() && text.isWellFormed();

/** Returns the text of a part of a plain kind. No two different calls have the same text. */
function plainText(part: ContentPart): string {
  if (part.type === 'text') return part.text;
  return part.type === 'tool-call'
    ? `${part.id.length} ${part.name.length} ${part.id}${part.name}${part.arguments}`
    : '';
}

/** Returns the members of a turn other than its parts, as a text. Turns with different members never have the same text. */
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
    // A content of null means the same as no content.
    const plain = isObject(original) && original.content === null ? { ...original, content: undefined } : original;
    const json = JSON.stringify(plain);
    hash = Bun.hash.rapidhash(json.includes(MARK) ? JSON.stringify(plain, withoutMark) : json, hash);
  }
  return hash;
}

const MARK = '"cache_control"';
const withoutMark = (name: string, value: unknown): unknown => (name === 'cache_control' ? undefined : value);

/** Whether the members contain nothing except cache marks. */
function isUnmarked(members: object): boolean {
  for (const name in members) if (name !== 'cache_control') return false;
  return true;
}
