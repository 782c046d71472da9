import { hash } from 'node:crypto';
import type { KeyLimits, Scope } from '../core/caller.ts';
import type { KeyInfo, KeyTerms } from '../store/keys.ts';
import { changeableBody } from './key-body.ts';
import { checkChild } from './line.ts';
import {
  checkModelBytes,
  checkTerms,
  EXPIRY_MAX_MS,
  KeyTermsError,
  NO_LIMITS,
  statedLimits,
  statedTerms,
} from './terms.ts';

/** A change of a key's terms: an absent member stays, null removes it. Lists are replaced whole. */
export type KeyPatch = {
  readonly [Term in Exclude<keyof KeyTerms, 'scopes' | 'labels' | 'limits'>]?: KeyTerms[Term] | null;
} & {
  readonly scopes?: readonly Scope[];
  /** Those that are not named stay; null removes one of them, or all. */
  readonly labels?: Readonly<Record<string, string | null>> | null;
  /** Those that are not named stay; null leaves one of them, or all, to the policy. */
  readonly limits?: Partial<KeyLimits> | null;
};

/** A change that the keys as they are refuse: one has changed meanwhile, or the last admin key would be lost. For people. */
export class KeyConflict extends Error {
  override readonly name = 'KeyConflict';
  readonly reason: keyof typeof CONFLICTS;
  /** The tag that the key has now; null where it does not matter. */
  readonly tag: string | null;

  constructor(reason: keyof typeof CONFLICTS, tag: string | null = null) {
    super(CONFLICTS[reason]);
    this.reason = reason;
    this.tag = tag;
  }
}

const CONFLICTS = {
  stale: 'The key has changed meanwhile, so nothing was changed. Read it again.',
  last_admin_key:
    'No other key with the scope admin works, so this one must stay. Make another first: keys create --scope admin, or POST /admin/keys.',
} as const;

/** Applies a change. The result is to be checked by `checkTerms`. */
export function patched(info: KeyInfo, { labels = {}, limits = {}, ...patch }: KeyPatch): KeyInfo {
  return {
    ...info,
    ...statedTerms(patch),
    labels: labels === null ? {} : labelled(info.labels, labels),
    limits: limits && statedLimits({ ...NO_LIMITS, ...info.limits, ...limits }),
  };
}

function labelled(before: KeyInfo['labels'], change: Readonly<Record<string, string | null>>): Record<string, string> {
  const after = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) after.delete(name);
    else after.set(name, value);
  }
  return Object.fromEntries(after);
}

/** Checks a key with its new terms. Throws KeyTermsError. */
export function checkChange(before: KeyInfo, after: KeyInfo, now: number): void {
  if (before.holder !== null && differenceOf({ ...before, name: after.name }, after) !== null) {
    throw new KeyTermsError(
      'wallet',
      'A wallet made this key, and it has no terms of its own: it can be renamed, suspended and revoked.',
    );
  }
  const isChild = after.parent !== null;
  checkTerms(after, isChild);
  checkModelBytes('key', after.models, before.models);
  if (isChild) checkChild(after);
  if (isChild && (after.team !== before.team || after.user !== before.user)) {
    throw new KeyTermsError('parent', 'A child key has the team and the user of its parent.');
  }
  const { expiresAt } = after;
  if (expiresAt === before.expiresAt || expiresAt === null) return;
  if (expiresAt > now && expiresAt <= now + EXPIRY_MAX_MS) return;
  throw new KeyTermsError(
    'expires_at',
    'A key can expire later than now, within a hundred years. To end it now, suspend or revoke it.',
  );
}

/** Members with their values on both sides of a change. */
type Difference = Readonly<Record<'before' | 'after', Readonly<Record<string, unknown>>>>;

/** The members that differ, as the trail has them; null where none do. */
export function differenceOf(before: KeyInfo, after: KeyInfo): Difference | null {
  const [were, are] = [before, after].map((info) => Object.entries(changeableBody(info)));
  const differs = (one: number) => JSON.stringify(were![one]) !== JSON.stringify(are![one]);
  const [old, fresh] = [were!, are!].map((members) => members.filter((_, at) => differs(at)));
  return old!.length === 0 ? null : { before: Object.fromEntries(old!), after: Object.fromEntries(fresh!) };
}

/** Names the terms and the state of a key, as `ETag` does. Two that are equal have the same. */
export function keyTag(info: KeyInfo): string {
  const { revokedAt, rotatedAt, parent } = info;
  const whole = JSON.stringify([changeableBody(info), revokedAt, rotatedAt, parent]);
  return hash('sha256', whole, 'hex').slice(0, 16);
}

/** The end of a key that works by then, ms since 1970; Infinity for never. */
const endOf = ({ expiresAt }: Pick<KeyInfo, 'expiresAt'>): number => expiresAt ?? Number.POSITIVE_INFINITY;

const isAdmin = ({ scopes, revokedAt, suspendedAt }: KeyInfo): boolean =>
  scopes.includes('admin') && revokedAt === null && suspendedAt === null;

/**
 * Returns when a change takes an admin key away that works at `now`: then another one has to work beyond that moment. Null
 * where it takes none away.
 */
export function adminLossAt(before: KeyInfo, after: KeyInfo, now: number): number | null {
  if (!isAdmin(before) || endOf(before) <= now) return null;
  if (!isAdmin(after)) return now;
  return endOf(after) < endOf(before) ? endOf(after) : null;
}
