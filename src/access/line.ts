import { type Caller, CHILD_LABEL, permissionsOf, SCOPES, type Scope, withoutIncluded } from '../core/people/caller.ts';
import { DAY_MS } from '../core/time/clock.ts';
import type { StoredKey } from '../store/keys.ts';
import { type KeyGrant, KeyTermsError, LABELS_MAX, normalizedHolders, refuse } from './terms.ts';

type Info = StoredKey['info'];

/**
 * How deep a line of child keys may be, how many valid child keys one key may have, and how many keys a whole line, and all lines of one
 * user, may create in 24 hours.
 */
export const LINE_LIMITS = { depth: 3, live: 100, aDay: 1_000, aDayOfUser: 2_000 };

/** The lifetime of a child key, ms: a day by default, a month at most. */
export const CHILD_LIFE = { usualMs: DAY_MS, mostMs: 30 * DAY_MS };

/** The effective terms and the secrets that a child key gets from the key that created it. */
export interface Above extends Pick<StoredKey, 'hash' | 'previousHash'> {
  readonly inForce: Info;
}

/**
 * Returns the effective terms of a child key: its own terms, each limited by the terms of the key above it. The terms of a line must be
 * computed from its first key downwards.
 */
export function inForceBelow({ info, parentHash }: Pick<StoredKey, 'info' | 'parentHash'>, above: Above): Info {
  const upper = above.inForce;
  return {
    ...info,
    scopes: sharedScopes(info.scopes, upper.scopes),
    labels: labelsBelow(info.labels, upper.labels),
    models: sharedItems(info.models, upper.models),
    notModels: allItems(info.notModels, upper.notModels),
    holders: sharedItems(info.holders, upper.holders),
    team: upper.team,
    user: upper.user,
    expiresAt: earliest(info.expiresAt, upper.expiresAt, secretEndsAt(above, parentHash)),
    revokedAt: earliest(info.revokedAt, upper.revokedAt),
    suspendedAt: info.suspendedAt ?? upper.suspendedAt,
  };
}

/** The effective terms of a key whose parent does not exist. Such a key was never valid. */
export const inForceAlone = (info: Info): Info => ({ ...info, revokedAt: info.revokedAt ?? info.createdAt });

function sharedScopes(own: readonly Scope[], upper: readonly Scope[]): readonly Scope[] {
  const [mine, theirs] = [permissionsOf(own), permissionsOf(upper)];
  return withoutIncluded(SCOPES.filter((scope) => mine.has(scope) && theirs.has(scope) && isDelegable(scope)));
}

/** Whether a child key may have a scope. */
const isDelegable = (scope: Scope): boolean => scope !== 'admin' && scope !== 'report';

/** The labels of the key above come first, so that labels of the child key cannot displace them. */
function labelsBelow(own: Info['labels'], upper: Info['labels']): Info['labels'] {
  const added = Object.entries(own).filter(([name]) => name.startsWith(CHILD_LABEL) && !Object.hasOwn(upper, name));
  return Object.fromEntries([...Object.entries(upper), ...added].slice(0, LABELS_MAX));
}

/** Null means all. */
function sharedItems(own: readonly string[] | null, upper: readonly string[] | null): readonly string[] | null {
  if (own === null || upper === null) return own ?? upper;
  const allowed = new Set(upper);
  return own.filter((item) => allowed.has(item));
}

/** Null means none. */
const allItems = (own: readonly string[] | null, upper: readonly string[] | null): readonly string[] | null =>
  own === null || upper === null ? (own ?? upper) : [...new Set([...upper, ...own])];

/** Null means never. */
function earliest(...times: readonly (number | null)[]): number | null {
  const stated = times.filter((time) => time !== null);
  return stated.length === 0 ? null : Math.min(...stated);
}

/**
 * Returns when the secret ends with which the key above created a key; null if it is the current secret. A rotated secret ends with its
 * overlap.
 */
function secretEndsAt({ hash, previousHash, inForce }: Above, made: Uint8Array | null): number | null {
  if (made !== null && isEqual(made, hash)) return null;
  const isLast = made !== null && previousHash !== null && isEqual(made, previousHash);
  return (isLast ? inForce.overlapEndsAt : inForce.rotatedAt) ?? 0;
}

/** Both compared hashes are stored here, so a comparison in constant time is not needed. */
const isEqual = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

/** The default scopes for a child key: all that the key can give except `delegate`. */
export const scopesFor = ({ scopes }: Info): Scope[] =>
  scopes.filter((scope) => isDelegable(scope) && scope !== 'delegate');

/** The most keys in a line, even in a damaged store. */
const LINE_MAX = 16;

type Parents = (id: string) => Pick<Info, 'parent'> | null | undefined;

/** Returns the IDs of the keys above a key, nearest first, by following parents. */
function lineBy(keyOf: Parents, id: string): readonly string[] {
  const line: string[] = [];
  for (let at = keyOf(id)?.parent; at && line.length < LINE_MAX; at = keyOf(at)?.parent) line.push(at);
  return line;
}

/** Finds keys by ID, including revoked keys. */
export type NamedKeys = (ids: Iterable<string>) => Promise<ReadonlyMap<string, Pick<Info, 'parent'>>>;

/** Loads the lines of keys, including revoked keys. @returns a function that returns the line of each key. Rejects with StoreError. */
export async function linesOf(ids: Iterable<string>, named: NamedKeys): Promise<(id: string) => readonly string[]> {
  const found = new Map<string, Pick<Info, 'parent'> | null>();
  let next: readonly string[] = [...ids];
  while (next.length > 0) {
    const keys = await named(next);
    for (const id of next) found.set(id, keys.get(id) ?? null);
    next = [...keys.values()].flatMap(({ parent }) => (parent === null || found.has(parent) ? [] : parent));
  }
  return (id) => lineBy((one) => found.get(one), id);
}

/** Adds the line of the key above to a caller. */
export const callerBelow = (caller: Caller, above: Caller): Caller => ({
  ...caller,
  parent: above,
  line: [above.keyId, ...(above.line ?? [])],
});

/**
 * Checks that a key gives only what it has itself. Limits and budgets need no check, because the limits and budgets of the whole line
 * apply.
 * @param upper the effective terms of the key that gives
 * @throws KeyTermsError
 */
export function checkBelow(grant: KeyGrant, upper: Info): void {
  checkChild(grant);
  const { scopes, models = null, holders = null, labels = {} } = grant;
  const has = permissionsOf(upper.scopes);
  for (const [at, scope] of scopes.entries()) {
    if (!has.has(scope))
      refuse(
        `scopes[${at}]`,
        `This API key lacks the scope \`${scope}\`, so it cannot give this scope to another key.`,
      );
  }
  const mayUse = (model: string) =>
    upper.models?.includes(model) !== false && upper.notModels?.includes(model) !== true;
  checkItems('models', models ?? [], mayUse, 'This API key may not use the model');
  const mayName = (holder: string) => upper.holders?.includes(holder) !== false;
  checkItems('wallets', normalizedHolders(holders ?? []), mayName, 'This API key may not name the wallet');
  for (const [name, value] of Object.entries(labels)) {
    const own = Object.hasOwn(upper.labels, name) ? upper.labels[name] : value;
    if (own !== value)
      refuse(`labels.${name}`, `This API key has the label ${name} with another value, so a child key cannot set it.`);
  }
}

/** Checks for terms that no child key may have, whoever creates it. Throws KeyTermsError. */
export function checkChild({ scopes, labels = {} }: Pick<KeyGrant, 'scopes' | 'labels'>): void {
  for (const [at, scope] of scopes.entries()) {
    if (!isDelegable(scope)) refuse(`scopes[${at}]`, `A child key cannot have the scope \`${scope}\`.`);
  }
  if (Object.keys(labels).every((name) => name.startsWith(CHILD_LABEL))) return;
  refuse(
    'labels',
    `A child key has the labels of its parent. Names of additional labels must begin with ${CHILD_LABEL}`,
  );
}

function checkItems(field: string, own: readonly string[], has: (item: string) => boolean, refusal: string) {
  const at = own.findIndex((item) => !has(item));
  if (at >= 0) refuse(`${field}[${at}]`, `${refusal} ${own[at]}, so it cannot give it to another key.`);
}

export const tooManyBelow = () =>
  new KeyTermsError(
    'parent',
    `A key has at most ${LINE_LIMITS.live} valid child keys, its line has at most ${LINE_LIMITS.depth} levels, and all keys of a line create at most ${LINE_LIMITS.aDay} keys within 24 hours. All lines of one user create at most ${LINE_LIMITS.aDayOfUser} keys within 24 hours. Revoke a child key, or wait.`,
  );
