import type { Scope } from '../core/people/caller.ts';
import { type KeyInfo, type KeyRow, type KeyTerms, NO_KEY_TERMS } from '../store/keys.ts';
import { isMet, StoreError, type Write } from '../store/store.ts';
import type { Actor, SubjectEvent } from '../store/trail.ts';
import { newKey, parseKey } from './key.ts';
import { termsBody } from './key-body.ts';
import type { KeysOptions } from './key-copy.ts';
import { adminLossAt, checkChange, type Difference, differenceOf } from './key-patch.ts';
import { checkModelBytes, checkTerms, KeyTermsError, statedTerms } from './terms.ts';

/** The only scopes of an imported key. An operator can change them later. */
const IMPORTED_SCOPES: readonly Scope[] = ['chat', 'embed', 'route'];

/** A key of another gateway. */
export interface ImportedKey {
  /** SHA-256 of the whole key. */
  readonly hash: Uint8Array;
  /** The terms that the other gateway states. If the key was imported before, its other terms stay unchanged. */
  readonly terms: Partial<Omit<KeyTerms, 'scopes'>>;
  /** Whether the other gateway refuses the key. An import suspends keys, but never resumes them. */
  readonly isSuspended: boolean;
}

/** The action of an import on a key. */
export type KeyImport =
  | { readonly action: 'create' | 'same'; readonly info: KeyInfo }
  | { readonly action: 'change'; readonly info: KeyInfo; readonly difference: Difference }
  | { readonly action: 'refuse'; readonly reason: string; readonly info: KeyInfo | null };

/** The parts of the keys that an import needs. */
interface ImportParts extends Pick<KeysOptions, 'store' | 'now'> {
  /** Returns a key with the state that this process knows. */
  readonly infoOf: (row: KeyRow) => KeyInfo;
  /** Resolves when committed keys work on this server. */
  readonly apply: () => Promise<void>;
}

/** The keys of one transaction. A larger transaction would hold up requests on a server with SQLite. */
const BATCH = 250;
/** The most hashes of one query. */
const HASHES_MAX = 500;

/** How often a key is planned again because another change came first. */
const TRIES = 3;
const CHANGED = 'The key, its team or its user has changed during the import. Import the file again.';

/** A planned change of one key, with its entry of the audit trail if the key is new, and the writes that make it. */
interface Plan {
  readonly result: KeyImport;
  readonly entry?: SubjectEvent;
  readonly writes: readonly Write[];
}

/**
 * Imports keys in batches. Each batch is committed together with its entries in the audit trail, so that the same call completes an import
 * that was interrupted. A key that was imported before gets the stated terms.
 * @param actor null to change nothing
 * @returns what was done, or would be done, with each key, in the order of the keys
 */
export async function importKeys(
  keys: readonly ImportedKey[],
  actor: Actor | null,
  parts: ImportParts,
): Promise<readonly KeyImport[]> {
  const results: KeyImport[] = [];
  const taken = new Set<string>();
  for (let from = 0; from < keys.length; from += HASHES_MAX) {
    const part = keys.slice(from, from + HASHES_MAX);
    const planned = await plansOf(part, actor, taken, parts);
    if (actor === null) {
      results.push(...planned.map(({ result }) => result));
      continue;
    }
    for (let at = 0; at < planned.length; at += BATCH) {
      const batch = planned.slice(at, at + BATCH);
      const isDone = await committed(batch, parts);
      const again = part.slice(at, at + BATCH);
      results.push(...(isDone ? batch.map(({ result }) => result) : await oneByOne(again, actor, parts)));
    }
  }
  // If the store cannot be read now, the committed keys must still be reported. The news of the store repeats the read.
  if (actor !== null) await parts.apply().catch(() => {});
  return results;
}

/** Imports the keys of a failed batch alone, each with the terms that it has now, to find out which of them cannot be imported. */
async function oneByOne(keys: readonly ImportedKey[], actor: Actor, parts: ImportParts): Promise<readonly KeyImport[]> {
  const results: KeyImport[] = [];
  for (const key of keys) {
    let result: KeyImport = { action: 'refuse', reason: CHANGED, info: null };
    for (let tries = 0; tries < TRIES; tries++) {
      const [plan] = await plansOf([key], actor, new Set(), parts);
      if (!plan || !(await committed([plan], parts))) continue;
      ({ result } = plan);
      break;
    }
    results.push(result);
  }
  return results;
}

/** Commits plans. Returns false if a condition does not hold, or if another import has created one of the keys in the meantime. */
async function committed(plans: readonly Plan[], { store }: ImportParts): Promise<boolean> {
  const entries = plans.flatMap(({ entry }) => entry ?? []);
  const added = entries.length === 0 ? [] : [store.trail.addAll(entries)];
  const writes = [...added, ...plans.flatMap((plan) => plan.writes)];
  if (writes.length === 0) return true;
  try {
    return await isMet(store.commit(writes));
  } catch (cause) {
    if (cause instanceof StoreError && cause.reason === 'refused') return false;
    throw cause;
  }
}

/** @param taken the hashes of the keys before these */
async function plansOf(
  keys: readonly ImportedKey[],
  actor: Actor | null,
  taken: Set<string>,
  parts: ImportParts,
): Promise<readonly Plan[]> {
  const rows = await parts.store.keys.withHashes(keys.map(({ hash }) => hash));
  const byHash = new Map(
    rows.flatMap((row) => [row.key.hash, row.key.importedHash ?? row.key.hash].map((hash) => [hexOf(hash), row])),
  );
  return keys.map((key) => {
    const name = hexOf(key.hash);
    const isTwice = taken.has(name);
    taken.add(name);
    if (isTwice) return refusal('An earlier row of the file has the same key.', null);
    try {
      const row = byHash.get(name);
      return row ? changeOf(key, row, actor, parts) : creationOf(key, actor, parts);
    } catch (cause) {
      if (!(cause instanceof KeyTermsError)) throw cause;
      return refusal(`${cause.param}: ${cause.message}`, null);
    }
  });
}

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');

const refusal = (reason: string, info: KeyInfo | null): Plan => ({
  result: { action: 'refuse', reason, info },
  writes: [],
});

function creationOf({ hash, terms, isSuspended }: ImportedKey, actor: Actor | null, { store, now }: ImportParts): Plan {
  const time = now();
  const stated = { ...NO_KEY_TERMS, ...statedTerms({ ...terms, scopes: IMPORTED_SCOPES }) };
  checkTerms(stated);
  checkModelBytes('key', stated.models);
  if (stated.expiresAt !== null && stated.expiresAt <= time) return refusal('The key has expired.', null);
  const past = { revokedAt: null, suspendedAt: null, lastUsedAt: null, rotatedAt: null, overlapEndsAt: null };
  const id = parseKey(newKey())!.id;
  const info: KeyInfo = { id, ...stated, ...past, holder: null, createdAt: time, parent: null };
  const suspended = isSuspended ? { ...info, suspendedAt: time } : info;
  if (actor === null) return { result: { action: 'create', info: suspended }, writes: [] };
  const { keys, people } = store;
  const details = { ...termsBody(info), imported: true, ...(isSuspended && { suspended: true }) };
  const entry = { time, actor, action: 'create', details, subject: { kind: 'key', id } } as const;
  const writes = [
    ...memberOf(info, people),
    keys.insert(info, hash, { isImported: true }),
    ...(isSuspended ? [keys.change(suspended)] : []),
  ];
  return { result: { action: 'create', info: suspended }, entry, writes };
}

function changeOf(
  { hash, terms, isSuspended }: ImportedKey,
  row: KeyRow,
  actor: Actor | null,
  { store, now, infoOf }: ImportParts,
): Plan {
  const { inForce: _, ...before } = infoOf(row);
  const { importedHash } = row.key;
  if (!importedHash || Buffer.compare(importedHash, hash) !== 0) {
    return refusal(`The key ${before.id} has the same secret, and was not imported.`, before);
  }
  if (before.revokedAt !== null) return refusal(`The key was imported as ${before.id} and then revoked.`, before);
  const time = now();
  const suspendedAt = before.suspendedAt ?? (isSuspended ? time : null);
  const after = { ...before, ...statedTerms(terms), suspendedAt };
  const difference = differenceOf(before, after);
  if (difference === null) return { result: { action: 'same', info: before }, writes: [] };
  checkChange(before, after, time);
  const result = { action: 'change', info: after, difference } as const;
  if (actor === null) return { result, writes: [] };
  const { keys, people, trail } = store;
  const event = { time, actor, action: 'change', keyId: before.id, details: difference } as const;
  const isMoved = after.team !== before.team || after.user !== before.user;
  const entry = trail.addIfUnchanged(event, { version: row.version, otherAdminAt: adminLossAt(before, after, time) });
  return { result, writes: [entry, ...(isMoved ? memberOf(after, people) : []), keys.change(after)] };
}

const memberOf = (
  { team, user }: Pick<KeyInfo, 'team' | 'user'>,
  people: KeysOptions['store']['people'],
): readonly Write[] => (team === null && user === null ? [] : [people.requireMembership({ team, user })]);
