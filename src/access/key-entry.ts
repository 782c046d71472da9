import { timingSafeEqual } from 'node:crypto';
import { type Caller, FULL_SCOPES, holderCaller, permissionsOf, rootOf } from '../core/people/caller.ts';
import type { Reading } from '../core/reading.ts';
import type { KeyInfo, KeyRow, StoredKey } from '../store/keys.ts';
import { callerBelow, inForceAlone, inForceBelow } from './line.ts';

/**
 * Why a key is denied. The reason for a denial is only for logs. Callers learn only that the key is not valid. Callers who have its secret
 * also learn that it is suspended.
 */
export type DenialReason = 'missing' | 'malformed' | 'unknown' | 'expired' | 'revoked' | 'rotated' | 'suspended';

/** The result of a check with this instance's copy of the keys. `ageMs` is the age of the copy. */
export type Authentication = (Reading & { readonly caller: Caller; readonly reason: null }) | Denial;

/**
 * `root`: the ID of the first key of the line, if the right secret of a child key was presented. `known`: the caller of the key, if its
 * right secret was presented, or the secret that it had before.
 */
type Denial = Reading & {
  readonly caller: null;
  readonly reason: DenialReason;
  readonly root?: string;
  readonly known?: Caller;
};

export interface KeyEntry extends Pick<StoredKey, 'parentHash' | 'importedHash'> {
  readonly info: StoredKey['info'];
  /** The effective terms: the key's own terms, limited by the keys above it. For a key without a parent, `info` itself. */
  inForce: StoredKey['info'];
  readonly hash: Uint8Array;
  /** The hash of the secret before the last rotation, which works until `previousUntil` (ms since 1970). */
  readonly previousHash: Uint8Array;
  readonly previousUntil: number;
  authentication: Authentication & { readonly caller: Caller };
  /** The last use, and the last use written to the store; ms since 1970, 0 for never. */
  usedAt: number;
  writtenAt: number;
}

/** Each holder has one authentication, because all keys of a holder are one caller. */
export type HolderGrants = Map<string, KeyEntry['authentication']>;

const denied = (reason: DenialReason): Denial => Object.freeze({ caller: null, reason, ageMs: 0 });

export const DENIED = {
  missing: denied('missing'),
  malformed: denied('malformed'),
  unknown: denied('unknown'),
  expired: denied('expired'),
  revoked: denied('revoked'),
  rotated: denied('rotated'),
  suspended: denied('suspended'),
};

/** A hash to compare with if there is no secret, so that the check takes the same time. No key has this hash. */
const NO_HASH = new Uint8Array(32);

/**
 * Makes the entry of a row. A rotated key keeps its caller object, so that counts by caller continue. Adds the row's holder to `holders`.
 */
export function keyEntryOf({ key, lastUsedAt }: KeyRow, before: KeyEntry | undefined, holders: HolderGrants): KeyEntry {
  const usedAt = lastUsedAt ?? 0;
  const { info, hash, previousHash, parentHash, importedHash } = key;
  // A child key has no effective terms until `bringInLine` computes them.
  const inForce = info.parent === null ? info : (before?.inForce ?? inForceAlone(info));
  return {
    info,
    inForce,
    hash,
    parentHash,
    importedHash,
    previousHash: previousHash ?? NO_HASH,
    previousUntil: info.overlapEndsAt ?? 0,
    authentication:
      before && hasSameTerms(inForce, before.inForce) ? before.authentication : authenticationOf(inForce, holders),
    usedAt: Math.max(before?.usedAt ?? 0, usedAt),
    writtenAt: usedAt,
  };
}

/**
 * Computes the effective terms of a key from the entry above it, which must already have its own; undefined if no key has the ID of the
 * parent.
 */
export function bringInLine(entry: KeyEntry, above: KeyEntry | undefined): void {
  const before = entry.inForce;
  entry.inForce = above ? inForceBelow(entry, above) : inForceAlone(entry.info);
  const upper = above?.authentication.caller;
  const { caller } = entry.authentication;
  if (!upper || (caller.parent === upper && hasSameTerms(entry.inForce, before))) return;
  entry.authentication = { caller: callerBelow(callerOf(entry.inForce), upper), reason: null, ageMs: 0 };
}

/** The entry of a key that no longer works, without the terms for requests, which can be large. */
export function endedEntry(entry: KeyEntry): KeyEntry {
  const without = { models: null, limits: null, budgets: [] };
  const { caller } = entry.authentication;
  const { keyId, scopes, labels, line, team, user } = caller;
  const slim = {
    keyId,
    scopes,
    labels,
    ...without,
    ...(line && { line }),
    ...(team && { team }),
    ...(user && { user }),
  };
  return {
    ...entry,
    info: { ...entry.info, ...without, notModels: null, holders: null },
    inForce: { ...entry.inForce, ...without, notModels: null, holders: null },
    authentication: { caller: slim, reason: null, ageMs: 0 },
  };
}

/** Whether everything that a caller object is made from is equal. */
function hasSameTerms(one: StoredKey['info'], other: StoredKey['info']): boolean {
  const termsOf = ({ scopes, labels, models, notModels, limits, budgets, holders, ...of }: StoredKey['info']) =>
    JSON.stringify([scopes, labels, models, notModels, limits, budgets, holders, of.holder, of.team, of.user]);
  return termsOf(one) === termsOf(other);
}

function authenticationOf(info: StoredKey['info'], holders: HolderGrants): KeyEntry['authentication'] {
  const { holder } = info;
  if (holder === null) return { caller: callerOf(info), reason: null, ageMs: 0 };
  const authentication = holders.get(holder) ?? { caller: holderCaller(holder), reason: null, ageMs: 0 };
  holders.set(holder, authentication);
  return authentication;
}

function callerOf(info: StoredKey['info']): Caller {
  return {
    keyId: info.id,
    scopes: permissionsOf(info.scopes),
    labels: info.labels,
    models: info.models && new Set(info.models),
    limits: info.limits,
    budgets: info.budgets,
    ...(info.notModels && { notModels: new Set(info.notModels) }),
    ...(info.holders && { holders: new Set(info.holders) }),
    ...(info.team && { team: info.team }),
    ...(info.user && { user: info.user }),
  };
}

/** Adds the last use that this process knows. */
export const infoOf = ({ usedAt }: KeyEntry, info: KeyEntry['info']): KeyInfo => ({
  ...info,
  lastUsedAt: usedAt === 0 ? null : usedAt,
});

/** The holder of the balance that a key spends, by its name in the ledger. */
export const holderOf = ({ id, holder }: Pick<KeyInfo, 'id' | 'holder'>): string => holder ?? id;

export const KEY_STATES = ['valid', 'suspended', 'expired', 'revoked'] as const;
export type KeyState = (typeof KEY_STATES)[number];

export function keyStateOf(
  { revokedAt, expiresAt, suspendedAt }: Pick<KeyInfo, 'revokedAt' | 'expiresAt' | 'suspendedAt'>,
  now: number,
): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  return suspendedAt === null ? 'valid' : 'suspended';
}

/** Returns the state of a presented secret, given by its hash. Takes the same time if there is no entry. */
export function secretStateOf(
  entry: KeyEntry | undefined,
  presented: Uint8Array,
  now: number,
): KeyState | 'unknown' | 'rotated' {
  const isPresent = timingSafeEqual(presented, entry ? entry.hash : NO_HASH);
  const isPrevious = timingSafeEqual(presented, entry ? entry.previousHash : NO_HASH);
  if (!entry || !(isPresent || isPrevious)) return 'unknown';
  const state = keyStateOf(entry.inForce, now);
  const isEnded = state === 'revoked' || state === 'expired';
  return !isEnded && !isPresent && entry.previousUntil <= now ? 'rotated' : state;
}

/** Checks a presented secret, given by its hash, and notes the use. Takes the same time if there is no entry. */
export function authenticationBy(entry: KeyEntry | undefined, presented: Uint8Array, now: number): Authentication {
  const state = secretStateOf(entry, presented, now);
  if (!entry || state === 'unknown') return DENIED.unknown;
  const { caller } = entry.authentication;
  if (state !== 'valid') {
    return {
      ...DENIED[state],
      ...(caller.line && state !== 'rotated' && { root: rootOf(caller) }),
      known: caller,
    };
  }
  entry.usedAt = now;
  return entry.authentication;
}

/** @throws an Error of one sentence unless a valid key with every scope has this hash */
export function checkInstalled(
  { info, hash, previousHash, previousUntil }: KeyEntry,
  presented: Uint8Array,
  now: number,
): void {
  const { id, revokedAt, suspendedAt, expiresAt, scopes } = info;
  const isPrevious = timingSafeEqual(presented, previousHash);
  if (!isPrevious && !timingSafeEqual(presented, hash)) {
    throw new Error(`A key with the ID ${id} already exists and has a different secret. Give the new key another ID.`);
  }
  if (revokedAt !== null) throw new Error(`The key ${id} was revoked. Install a new key.`);
  if (isPrevious && previousUntil <= now) {
    throw new Error(`The key ${id} was rotated, and this is its old secret. Install the new secret.`);
  }
  if (expiresAt !== null && expiresAt <= now) {
    throw new Error(`The key ${id} has expired. Install another key.`);
  }
  if (suspendedAt !== null) throw new Error(`The key ${id} is suspended. Resume it, or install another key.`);
  const permissions = permissionsOf(scopes);
  const missing = FULL_SCOPES.filter((scope) => !permissions.has(scope));
  if (missing.length > 0) {
    throw new Error(
      `The key ${id} lacks the scope ${missing.join(', ')}. An installed key needs every scope. Install another key.`,
    );
  }
}
