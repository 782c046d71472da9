import type { FundTitle } from '../../core/accounting/fund.ts';
import type { Budget } from '../../core/budget.ts';
import { type Caller, type HolderKind, roleOf } from '../../core/caller.ts';
import { refuse } from '../../core/errors.ts';
import { NO_GROUPS } from '../../core/holder.ts';
import { addressOf } from '../../core/holder-address.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import { isSubject } from '../../core/subject.ts';
import { levelOf } from '../../ledger/holder-budgets.ts';
import type { KeyName, KeyOwner } from '../../store/keys.ts';
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
  /** Looks up the keys with these IDs that the server does not have in memory, revoked keys, for the methods above. Rejects with StoreError. */
  learn(ids: Iterable<string>): Promise<void>;
  /** The IDs that a filter by key means. Rejects with StoreError. */
  idsOf(key: string): Promise<readonly string[]>;
  titleOf(title: Title): Title;
  /** The IDs of the keys whose figures and decisions lie within a reach, as they belong to somebody now; null for all. Rejects with StoreError. */
  idsWithin(reach: Reach): Promise<ReadonlySet<string> | null>;
}

/**
 * Refuses parameters that select by what a key with the scope `report` is not shown. The answer would confirm a guess.
 * @param stated the parameters that select by a person or by a run; undefined for those that do not
 * @throws SignalboxError `invalid_value`
 */
export function checkShown({ isNarrow }: Sight, stated: Readonly<Record<string, string | undefined>>): void {
  const [param, value] = Object.entries(stated).find(([, one]) => one !== undefined) ?? [];
  if (!isNarrow || param === undefined) return;
  refuse(param, `\`${param === 'by' ? `by=${value}` : param}\` is not open to a key with the scope \`report\`.`);
}

const NONE: ReadonlySet<string> = new Set();

/** The sight of operators, and of a key on its own data. */
export const FULL_SIGHT: Sight = {
  isNarrow: false,
  knowsKeys: false,
  keyOf: (id) => id,
  nameOf: addressOf,
  showsRunsOf: () => true,
  learn: async () => {},
  idsOf: async (key) => [key],
  titleOf: (title) => title,
  idsWithin: async (reach) => (reach === 'all' ? null : NONE),
};

type SeenKey = OwnedKey & Pick<KeyName, 'name' | 'labels'>;

/** What names are looked up in. */
export interface SightSources {
  readonly keys: {
    /** The key of this ID as this instance has it in memory. */
    known(id: string): SeenKey | null;
    /** The same of several keys, revoked or not. Rejects with StoreError. */
    named(ids: Iterable<string>): Promise<ReadonlyMap<string, SeenKey>>;
    /** The IDs of the keys in memory that match. */
    idsWhere(matches: (info: SeenKey) => boolean): readonly string[];
    /** The IDs of the keys of owners, or of a name, revoked or not. Rejects with StoreError. */
    idsOf(of: KeyOwner): Promise<readonly string[]>;
  };
  policy(): Pick<PolicySnapshot, 'budgets' | 'reportedRuns'>;
}

/** The sight of a caller. Reports see names for IDs; they and finance see no more runs of agents than the policy shows. */
export function sightOf(caller: Caller, { keys, policy }: SightSources): Sight {
  const learned = new Map<string, SeenKey>();
  const known = (id: string): SeenKey | null => keys.known(id) ?? learned.get(id) ?? null;
  const nameOf: Sight['nameOf'] = (id) => addressOf(id) ?? known(id)?.name ?? null;
  const common: Pick<Sight, 'nameOf' | 'knowsKeys' | 'learn' | 'idsWithin'> = {
    nameOf,
    knowsKeys: true,
    async learn(ids) {
      const missing = [...ids].filter((id) => known(id) === null);
      if (missing.length > 0) for (const [id, key] of await keys.named(missing)) learned.set(id, key);
    },
    async idsWithin(reach) {
      if (reach === 'all') return null;
      // A key alone is looked up in no list.
      const others = caller.role === undefined ? [] : await keysWithin(reach, caller, keys);
      return new Set([caller.keyId, ...others]);
    },
  };
  const sources = { known, policy };
  switch (roleOf(caller)) {
    case 'report':
      return { ...reportSight(keys, sources), ...common };
    case 'finance':
      return { ...FULL_SIGHT, ...runsOf(sources, FULL_SIGHT.keyOf), ...common };
    default:
      return { ...FULL_SIGHT, ...common };
  }
}

/** The IDs of the keys within a reach: those in memory by their terms there, and revoked ones as they are stored. */
async function keysWithin(reach: Reach, caller: Caller, keys: SightSources['keys']): Promise<readonly string[]> {
  const isOwn = (key: SeenKey) => isWithin(reach, caller, key);
  const present = keys.idsWhere(isOwn);
  const { user = null, team = null } = caller;
  const stored = await keys.idsOf({ user, team: reach === 'team' ? team : null });
  return [...present, ...stored.filter((id) => isOwn(keys.known(id) ?? { id, user, team, name: '', labels: {} }))];
}

/** The sources of the names of agents' runs. */
interface RunSources extends Pick<SightSources, 'policy'> {
  known(id: string): SeenKey | null;
}

function reportSight(
  keys: SightSources['keys'],
  sources: RunSources,
): Omit<Sight, 'idsWithin' | 'nameOf' | 'knowsKeys' | 'learn'> {
  const keyOf = (id: string) => addressOf(id) ?? (isSubject(id) ? id : (sources.known(id)?.name ?? ''));
  return {
    isNarrow: true,
    keyOf,
    async idsOf(key) {
      const id = addressOf(key) ?? (isSubject(key) ? key : null);
      return id === null ? await keys.idsOf({ name: key }) : [id];
    },
    ...runsOf(sources, keyOf),
  };
}

/** Shows the runs of agents that the policy shows, and keys as they are called. */
function runsOf({ known, policy }: RunSources, keyOf: Sight['keyOf']): Pick<Sight, 'showsRunsOf' | 'titleOf'> {
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
    const { labels } = known(id) ?? { labels: {} };
    return labels && showsRunsOf(id, labels) ? `${keyOf(id)}/${session}` : keyOf(id);
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
