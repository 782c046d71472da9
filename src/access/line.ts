import { type Caller, CHILD_LABEL, permissionsOf, SCOPES, type Scope } from '../core/caller.ts';
import { DAY_MS } from '../core/clock.ts';
import type { StoredKey } from '../store/keys.ts';
import { type KeyGrant, KeyTermsError, LABELS_MAX, normalizedHolders, refuse } from './terms.ts';

type Info = StoredKey['info'];

/**
 * How far below a key of its own a line goes, the valid keys that one key may have made, and the keys that a whole line, and all lines
 * of one user, make in 24 hours.
 */
export const LINE_LIMITS = { depth: 3, live: 100, aDay: 1_000, aDayOfUser: 2_000 };

/** The life of a key below another, ms: a day unless stated, a month at most. */
export const CHILD_LIFE = { usualMs: DAY_MS, mostMs: 30 * DAY_MS };

/** What a key has from the one that made it: its terms in force, and its secrets. */
export interface Above extends Pick<StoredKey, 'hash' | 'previousHash'> {
  readonly inForce: Info;
}

/**
 * Returns the terms of a key below another as they are in force: its own, each at most that of the key above. Those of a line
 * are found from its first key on.
 */
export function inForceBelow({ info, parentHash }: Pick<StoredKey, 'info' | 'parentHash'>, above: Above): Info {
  const upper = above.inForce;
  return {
    ...info,
    scopes: sharedScopes(info.scopes, upper.scopes),
    labels: labelsBelow(info.labels, upper.labels),
    models: sharedItems(info.models, upper.models),
    holders: sharedItems(info.holders, upper.holders),
    team: upper.team,
    user: upper.user,
    expiresAt: earliest(info.expiresAt, upper.expiresAt, secretEndsAt(above, parentHash)),
    revokedAt: earliest(info.revokedAt, upper.revokedAt),
    suspendedAt: info.suspendedAt ?? upper.suspendedAt,
  };
}

/** The terms of a key whose parent is not there: it was never valid. */
export const inForceAlone = (info: Info): Info => ({ ...info, revokedAt: info.revokedAt ?? info.createdAt });

function sharedScopes(own: readonly Scope[], upper: readonly Scope[]): Scope[] {
  const [mine, theirs] = [permissionsOf(own), permissionsOf(upper)];
  const shared = SCOPES.filter((scope) => mine.has(scope) && theirs.has(scope) && isDelegable(scope));
  // `chat` says it already.
  return shared.includes('chat') ? shared.filter((scope) => scope !== 'embed') : shared;
}

/** Whether a key below another may have a scope. */
const isDelegable = (scope: Scope): boolean => scope !== 'admin' && scope !== 'report';

/** Those of the key above come first, so that no number of own ones displaces them. */
function labelsBelow(own: Info['labels'], upper: Info['labels']): Info['labels'] {
  const added = Object.entries(own).filter(([name]) => name.startsWith(CHILD_LABEL) && !Object.hasOwn(upper, name));
  return Object.fromEntries([...Object.entries(upper), ...added].slice(0, LABELS_MAX));
}

/** Null stands for all. */
function sharedItems(own: readonly string[] | null, upper: readonly string[] | null): readonly string[] | null {
  if (own === null || upper === null) return own ?? upper;
  const allowed = new Set(upper);
  return own.filter((item) => allowed.has(item));
}

/** Null stands for never. */
function earliest(...times: readonly (number | null)[]): number | null {
  const stated = times.filter((time) => time !== null);
  return stated.length === 0 ? null : Math.min(...stated);
}

/** When the secret ends with which the key above made a key; null while it is the present one. A rotation ends it with its overlap. */
function secretEndsAt({ hash, previousHash, inForce }: Above, made: Uint8Array | null): number | null {
  if (made !== null && isEqual(made, hash)) return null;
  const isLast = made !== null && previousHash !== null && isEqual(made, previousHash);
  return (isLast ? inForce.overlapEndsAt : inForce.rotatedAt) ?? 0;
}

/** Of hashes that are both stored here: nobody measures how long it takes. */
const isEqual = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

/** The scopes that a key gives where it states none: all that it can, without the right to give. */
export const scopesFor = ({ scopes }: Info): Scope[] =>
  scopes.filter((scope) => isDelegable(scope) && scope !== 'delegate');

/** A line has no more keys than this, even in a damaged store. */
const LINE_MAX = 16;

type Parents = (id: string) => Pick<Info, 'parent'> | null | undefined;

/** The IDs of the keys above a key, the nearest first, by the parent of each. */
function lineBy(keyOf: Parents, id: string): readonly string[] {
  const line: string[] = [];
  for (let at = keyOf(id)?.parent; at && line.length < LINE_MAX; at = keyOf(at)?.parent) line.push(at);
  return line;
}

/** Finds keys by their IDs, revoked or not. */
export type NamedKeys = (ids: Iterable<string>) => Promise<ReadonlyMap<string, Pick<Info, 'parent'>>>;

/** Looks up the lines of keys, revoked or not. @returns the line of each. Rejects with StoreError. */
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
 * Checks that a key gives no more than it has. Its limits and budgets need no check: those of the whole line apply.
 * @param upper the terms in force of the key that gives
 * @throws KeyTermsError
 */
export function checkBelow(grant: KeyGrant, upper: Info): void {
  checkChild(grant);
  const { scopes, models = null, holders = null, labels = {} } = grant;
  const has = permissionsOf(upper.scopes);
  for (const [at, scope] of scopes.entries()) {
    if (!has.has(scope)) refuse(`scopes[${at}]`, `This API key lacks the scope \`${scope}\`, so it cannot give it.`);
  }
  checkItems('models', models, upper.models, 'This API key may not use the model');
  checkItems('wallets', holders && normalizedHolders(holders), upper.holders, 'This API key may not name the wallet');
  for (const [name, value] of Object.entries(labels)) {
    const own = Object.hasOwn(upper.labels, name) ? upper.labels[name] : value;
    if (own !== value) refuse(`labels.${name}`, `This API key has the label ${name} itself, with another value.`);
  }
}

/** Checks terms that no child key has, whoever gives them. Throws KeyTermsError. */
export function checkChild({ scopes, labels = {} }: Pick<KeyGrant, 'scopes' | 'labels'>): void {
  for (const [at, scope] of scopes.entries()) {
    if (!isDelegable(scope)) refuse(`scopes[${at}]`, `A child key cannot have the scope \`${scope}\`.`);
  }
  if (Object.keys(labels).every((name) => name.startsWith(CHILD_LABEL))) return;
  refuse('labels', `A child key has the labels of its parent. Names of further ones begin with ${CHILD_LABEL}`);
}

function checkItems(field: string, own: readonly string[] | null, upper: readonly string[] | null, refusal: string) {
  if (own === null || upper === null) return;
  const at = own.findIndex((item) => !upper.includes(item));
  if (at >= 0) refuse(`${field}[${at}]`, `${refusal} ${own[at]}, so it cannot give it.`);
}

export const tooManyBelow = () =>
  new KeyTermsError(
    'parent',
    `A key has at most ${LINE_LIMITS.live} valid child keys, its line is at most ${LINE_LIMITS.depth} deep, and a line makes at most ${LINE_LIMITS.aDay} keys within 24 hours. All lines of one user make at most ${LINE_LIMITS.aDayOfUser} keys within 24 hours. Revoke a child key, or wait.`,
  );
