import type { FundTitle } from '../accounting/fund.ts';
import type { Budget } from '../core/budget.ts';
import { type Caller, type HolderKind, roleOf } from '../core/caller.ts';
import { NO_GROUPS } from '../core/holder.ts';
import { addressOf } from '../core/holder-address.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { isSubject } from '../core/subject.ts';
import { levelOf } from '../ledger/holder-budgets.ts';
import type { KeyInfo } from '../store/keys.ts';
import { isWithin, type OwnedKey } from './reach.ts';
import type { Reach } from './roles.ts';

type Title = FundTitle;

/** How much an asker is shown of keys, and of the runs of agents. */
export interface Sight {
  /** Whether names stand for the IDs of keys, and words of callers are left out. */
  readonly isNarrow: boolean;
  /** The ID of a key as it is shown, or its name; the address of a wallet and the ID of a subject are shown as they are. */
  keyOf(id: string): string;
  /** Whether `nameOf` knows keys: a command has no list of them. */
  readonly knowsKeys: boolean;
  /** The name of a key, or the address of a wallet; null where it is not known. */
  nameOf(id: string): string | null;
  /** Whether the sessions and agents that a key names are shown. */
  showsRunsOf(id: string, labels: Caller['labels']): boolean;
  /** The IDs that a filter by key means. */
  idsOf(key: string): readonly string[];
  titleOf(title: Title): Title;
  /** The IDs of the keys whose figures and decisions lie within a reach, as they belong to somebody now; null for all. */
  idsWithin(reach: Reach): ReadonlySet<string> | null;
}

const NONE: ReadonlySet<string> = new Set();

/** The sight of operators, and of a key on its own data. */
export const FULL_SIGHT: Sight = {
  isNarrow: false,
  knowsKeys: false,
  keyOf: (id) => id,
  nameOf: addressOf,
  showsRunsOf: () => true,
  idsOf: (key) => [key],
  titleOf: (title) => title,
  idsWithin: (reach) => (reach === 'all' ? null : NONE),
};

/** What names are looked up in. */
export interface SightSources {
  readonly keys: {
    /** The key of this ID as this instance knows it, revoked or not. */
    known(id: string): Pick<KeyInfo, 'name' | 'labels'> | null;
    /** The IDs of the keys that match. */
    idsWhere(matches: (info: OwnedKey & Pick<KeyInfo, 'name'>) => boolean): readonly string[];
  };
  policy(): Pick<PolicySnapshot, 'budgets' | 'reportedRuns'>;
}

/** The sight of a caller. Reports see names for IDs; they and finance see no more runs of agents than the policy shows. */
export function sightOf(caller: Caller, sources: SightSources): Sight {
  const { idsWhere } = sources.keys;
  const idsWithin: Sight['idsWithin'] = (reach) => {
    if (reach === 'all') return null;
    // A key alone is looked up in no list.
    const others = caller.role === undefined ? [] : idsWhere((info) => isWithin(reach, caller, info));
    return new Set([caller.keyId, ...others]);
  };
  const nameOf: Sight['nameOf'] = (id) => addressOf(id) ?? sources.keys.known(id)?.name ?? null;
  switch (roleOf(caller)) {
    case 'report':
      return { ...reportSight(sources), nameOf, knowsKeys: true, idsWithin };
    case 'finance':
      return { ...FULL_SIGHT, ...runsOf(sources, FULL_SIGHT.keyOf), nameOf, knowsKeys: true, idsWithin };
    default:
      return { ...FULL_SIGHT, nameOf, knowsKeys: true, idsWithin };
  }
}

function reportSight(sources: SightSources): Omit<Sight, 'idsWithin' | 'nameOf' | 'knowsKeys'> {
  const { keys } = sources;
  const keyOf = (id: string) => addressOf(id) ?? (isSubject(id) ? id : (keys.known(id)?.name ?? ''));
  return {
    isNarrow: true,
    keyOf,
    idsOf: (key) => {
      const id = addressOf(key) ?? (isSubject(key) ? key : null);
      return id === null ? keys.idsWhere(({ name }) => name === key) : [id];
    },
    ...runsOf(sources, keyOf),
  };
}

/** Shows the runs of agents that the policy shows, and keys as they are called. */
function runsOf({ keys, policy }: SightSources, keyOf: Sight['keyOf']): Pick<Sight, 'showsRunsOf' | 'titleOf'> {
  const { budgets, reportedRuns } = policy();
  const showsRunsOf: Sight['showsRunsOf'] = (id, labels) => {
    try {
      return reportedRuns?.({ key: { id, labels: new Map(Object.entries(labels)) }, ...NO_GROUPS }) ?? false;
    } catch {
      // Unlike a limit, a condition that fails shows nothing.
      return false;
    }
  };
  const subjectOf = ({ name, definition, subject }: Title): string => {
    const level = levelOf(definition);
    if (level !== null) return shownHolder(level, subject, keyOf);
    const budget = budgets.find((one) => one.name === name && one.definition === definition);
    if (!budget?.isOfSessions) return plainSubject(subject, budget, keyOf);
    const [id = '', session = ''] = splitAt(subject, '/');
    return showsRunsOf(id, keys.known(id)?.labels ?? {}) ? `${keyOf(id)}/${session}` : keyOf(id);
  };
  return {
    showsRunsOf,
    titleOf: (title) =>
      title.kind === 'balance'
        ? { ...title, name: keyOf(title.name) }
        : { ...title, subject: title.subject && subjectOf(title) },
  };
}

/** The holder of a budget: users are persons, and not named. */
function shownHolder(level: HolderKind, subject: string, keyOf: Sight['keyOf']): string {
  if (level === 'key') return keyOf(subject);
  return level === 'user' ? '' : subject;
}

/** The subject of a budget whose `each` may read the ID of a key: its name, or nothing where more than the ID was read. */
function plainSubject(subject: string, budget: Budget | undefined, keyOf: Sight['keyOf']): string {
  return budget && !budget.readsKeyId ? subject : keyOf(subject);
}

function splitAt(text: string, sign: string): readonly [string, string] {
  const at = text.indexOf(sign);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
