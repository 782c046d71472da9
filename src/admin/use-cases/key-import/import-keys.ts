import type { ImportedKey, KeyImport } from '../../../access/key-import.ts';
import type { Keys } from '../../../access/keys.ts';
import type { People } from '../../../access/people.ts';
import { PeopleError } from '../../../access/people-terms.ts';
import { isObject } from '../../../core/json/object.ts';
import type { KeyInfo } from '../../../store/keys.ts';
import type { Membership } from '../../../store/people.ts';
import { membershipOf, userIdIn } from '../people.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { ForeignKey, ReadingTerms, UnusableKey } from './foreign-key.ts';

export const IMPORT_ACTIONS = ['create', 'change', 'same', 'refuse'] as const;

/** A key of the file, with what the import does with it. */
export interface ImportedRow {
  readonly at: string;
  readonly name: string;
  readonly action: (typeof IMPORT_ACTIONS)[number];
  /** Null for a key that is not in the database. */
  readonly id: string | null;
  readonly models: readonly string[] | null;
  /** The changed members, each with its old and its new value. */
  readonly changes: readonly string[];
  readonly leftOut: readonly string[];
  /** Why the key cannot come; null if it comes. */
  readonly reason: string | null;
}

/** The parts of the server, or of a database, that an import needs. */
export interface ImportDesk {
  readonly keys: Pick<Keys, 'import'>;
  readonly people: People;
}

/**
 * Imports the keys of a file.
 * @param isApplied false to change nothing, and return what would be done
 * @throws SignalboxError for a file that cannot be read
 */
export async function importFile(
  { caller, actor }: Principal,
  { keys, people }: ImportDesk,
  text: string,
  terms: ReadingTerms,
  isApplied: boolean,
): Promise<{ readonly rows: readonly ImportedRow[]; readonly notes: readonly string[] }> {
  checkAction(caller, 'keys.import');
  // Only an import needs the package that reads CSV.
  const { keysIn } = await import('./key-file.ts');
  const { keys: read, notes } = keysIn(text, terms);
  const placed = read.map((row) => ('reason' in row ? row : withOwners(row, people)));
  const usable = placed.flatMap((row) => ('reason' in row ? [] : row.key));
  const done = (await keys.import(usable, isApplied ? actor : null)).values();
  const rows = placed.map((row) =>
    'reason' in row ? refusedRow(row) : importedRow(row, done.next().value, isApplied),
  );
  return { rows, notes };
}

interface PlacedKey extends Pick<ForeignKey, 'at' | 'leftOut'> {
  readonly key: ImportedKey;
}

/** Finds the team and the user of a key. */
function withOwners(row: ForeignKey, people: People): PlacedKey | UnusableKey {
  const { at, hash, terms, team, user, isSuspended, leftOut } = row;
  try {
    const owners = ownersOf(people, { team, user });
    return { at, leftOut, key: { hash, terms: { ...terms, ...owners }, isSuspended } };
  } catch (cause) {
    if (!(cause instanceof PeopleError)) throw cause;
    return { at, name: terms.name ?? '', reason: missingOwner(people, row) ?? cause.message };
  }
}

function ownersOf(people: People, { team, user }: Pick<ForeignKey, 'team' | 'user'>): Partial<Membership> {
  if (team === undefined && user === undefined) return {};
  const id = user == null ? null : userIdIn(people, user);
  const found = membershipOf(people, { team: team ?? null, user: id });
  return {
    ...((team !== undefined || id !== null) && { team: found.team }),
    ...(user !== undefined && { user: found.user }),
  };
}

function missingOwner(people: People, { team, user }: ForeignKey): string | null {
  if (team != null && !people.team(team) && !people.teamNamed(team)) {
    return `No team has the ID or the name ${JSON.stringify(team)}. Create it with \`teams create\`, or change the file.`;
  }
  if (user == null || people.user(userIdIn(people, user))) return null;
  return `No user has the ID or the email address ${JSON.stringify(user)}. Create it with \`users create\`, or change the file.`;
}

const refusedRow = ({ at, name, reason }: UnusableKey): ImportedRow => ({
  at,
  name,
  action: 'refuse',
  id: null,
  models: null,
  changes: [],
  leftOut: [],
  reason,
});

function importedRow({ at, key, leftOut }: PlacedKey, done: KeyImport | undefined, isApplied: boolean): ImportedRow {
  if (!done) throw new Error('The import has no result for a key.');
  const isThere = (info: KeyInfo | null) => info !== null && (isApplied || done.action !== 'create');
  return {
    at,
    name: done.info?.name ?? key.terms.name ?? '',
    action: done.action,
    id: isThere(done.info) ? done.info!.id : null,
    models: done.info?.models ?? null,
    changes: done.action === 'change' ? changesIn(done.difference) : [],
    leftOut: done.action === 'refuse' ? [] : leftOut,
    reason: done.action === 'refuse' ? done.reason : null,
  };
}

const changesIn = ({ before, after }: Extract<KeyImport, { action: 'change' }>['difference']): readonly string[] =>
  Object.keys(after).map((name) => `${name}: ${shown(before[name])} → ${shown(after[name])}`);

const shown = (value: unknown): string =>
  isObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
