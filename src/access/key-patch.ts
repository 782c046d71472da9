import { hash } from 'node:crypto';
import type { KeyLimits, Scope } from '../core/people/caller.ts';
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

/** A change of a key's terms. An absent member stays unchanged, and null removes a term. A list replaces the whole previous list. */
export type KeyPatch = {
  readonly [Term in Exclude<keyof KeyTerms, 'scopes' | 'labels' | 'limits'>]?: KeyTerms[Term] | null;
} & {
  readonly scopes?: readonly Scope[];
  /** Labels that are not named stay unchanged. Null as the value removes one label; null for `labels` removes all labels. */
  readonly labels?: Readonly<Record<string, string | null>> | null;
  /**
   * Limits that are not named stay unchanged. Null as the value leaves one limit to the policy; null for `limits` leaves all limits to the
   * policy.
   */
  readonly limits?: Partial<KeyLimits> | null;
};

/**
 * A change that is refused because of the current state of the keys: the key has changed in the meantime, or the last admin key would be
 * lost. The message is for people.
 */
export class KeyConflict extends Error {
  override readonly name = 'KeyConflict';
  readonly reason: keyof typeof CONFLICTS;
  /** The current tag of the key; null if it does not matter. */
  readonly tag: string | null;

  constructor(reason: keyof typeof CONFLICTS, tag: string | null = null) {
    super(CONFLICTS[reason]);
    this.reason = reason;
    this.tag = tag;
  }
}

const CONFLICTS = {
  stale: 'The key has changed in the meantime, so nothing was changed. Read it again.',
  last_admin_key:
    'No other key with the scope admin works, so this key must stay. First create another one with keys create --scope admin, or POST /admin/keys.',
} as const;

/** Applies a change. The caller must check the result with `checkTerms`. */
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
      'A wallet created this key, so its terms cannot be changed. You can renew, suspend or revoke it.',
    );
  }
  const isChild = after.parent !== null;
  checkTerms(after, isChild);
  checkModelBytes('key', after.models, before.models);
  checkModelBytes('key', after.notModels, before.notModels, 'not_models');
  if (isChild) checkChild(after);
  if (isChild && (after.team !== before.team || after.user !== before.user)) {
    throw new KeyTermsError(
      'parent',
      'A child key belongs to the team and the user of its parent, so they cannot be changed here.',
    );
  }
  const { expiresAt } = after;
  if (expiresAt === before.expiresAt || expiresAt === null) return;
  if (expiresAt > now && expiresAt <= now + EXPIRY_MAX_MS) return;
  throw new KeyTermsError(
    'expires_at',
    'The expiry must be in the future and within a hundred years. To end the key now, suspend or revoke it.',
  );
}

/** The changed members with their old and new values. */
export type Difference = Readonly<Record<'before' | 'after', Readonly<Record<string, unknown>>>>;

/** Returns the members that differ, in the form of the audit trail; null if none differ. */
export function differenceOf(before: KeyInfo, after: KeyInfo): Difference | null {
  const [were, are] = [before, after].map((info) => Object.entries(changeableBody(info)));
  const differs = (one: number) => JSON.stringify(were![one]) !== JSON.stringify(are![one]);
  const [old, fresh] = [were!, are!].map((members) => members.filter((_, at) => differs(at)));
  return old!.length === 0 ? null : { before: Object.fromEntries(old!), after: Object.fromEntries(fresh!) };
}

/** Names the terms and the state of a key, for use as `ETag`. Equal keys have equal tags. */
export function keyTag(info: KeyInfo): string {
  const { revokedAt, rotatedAt, parent } = info;
  const whole = JSON.stringify([changeableBody(info), revokedAt, rotatedAt, parent]);
  return hash('sha256', whole, 'hex').slice(0, 16);
}

/** When a working key ends, ms since 1970; Infinity for never. */
const endOf = ({ expiresAt }: Pick<KeyInfo, 'expiresAt'>): number => expiresAt ?? Number.POSITIVE_INFINITY;

const isAdmin = ({ scopes, revokedAt, suspendedAt }: KeyInfo): boolean =>
  scopes.includes('admin') && revokedAt === null && suspendedAt === null;

/**
 * Returns when a change removes an admin key that works at `now`. Another admin key must then work beyond that moment. Null if the change
 * removes none.
 */
export function adminLossAt(before: KeyInfo, after: KeyInfo, now: number): number | null {
  if (!isAdmin(before) || endOf(before) <= now) return null;
  if (!isAdmin(after)) return now;
  return endOf(after) < endOf(before) ? endOf(after) : null;
}
