import type { FundTitle } from '../../core/accounting/fund.ts';
import { refuse } from '../../core/errors.ts';
import type { Budget } from '../../core/money/budget.ts';
import { addressOf } from '../../core/money/holder-address.ts';
import { type Caller, type HolderKind, isOperator, roleOf } from '../../core/people/caller.ts';
import { isSubject } from '../../core/people/subject.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { NO_CALLER, readKey } from '../../core/tables/facts/caller.ts';
import { levelOf } from '../../ledger/holder-budgets.ts';
import type { KeyName, KeyOwner } from '../../store/keys.ts';
import { isWithin, type OwnedKey } from './reach.ts';
import type { Reach } from './roles.ts';

type Title = FundTitle;

/** How much a caller may see of keys, and of the sessions and agents in requests. */
export interface Sight {
  /** Whether names of keys replace their IDs, and texts from callers are left out. */
  readonly isNarrow: boolean;
  /** The ID or the name of a key, depending on what the caller may see. Addresses of wallets and IDs of subjects are always shown. */
  keyOf(id: string): string;
  /** Whether messages of providers are shown that the caller of a request did not get. */
  readonly showsUpstream: boolean;
  /** Whether `nameOf` knows keys. A command has no list of keys. */
  readonly knowsKeys: boolean;
  /** The name of a key, or the address of a wallet; null if unknown. */
  nameOf(id: string): string | null;
  /** Whether the caller may see the sessions and agents that requests of a key name. */
  showsRunsOf(id: string, labels: Caller['labels']): boolean;
  /**
   * Loads the keys with these IDs that the server does not have in memory, such as revoked keys, for the methods above. Rejects with
   * StoreError.
   */
  learn(ids: Iterable<string>): Promise<void>;
  /** The IDs that a filter by key selects. Rejects with StoreError. */
  idsOf(key: string): Promise<readonly string[]>;
  titleOf(title: Title): Title;
  /**
   * The IDs of the keys whose figures and decisions are within a reach, according to their current owners; null for all keys. Rejects with
   * StoreError.
   */
  idsWithin(reach: Reach): Promise<ReadonlySet<string> | null>;
}

/**
 * Refuses filters by data that a key with the scope `report` may not see, because the answer would confirm a guess.
 * @param stated filters by a person or by a session or agent; undefined for filters that are absent
 * @throws SignalboxError `invalid_value`
 */
export function checkShown({ isNarrow }: Sight, stated: Readonly<Record<string, string | undefined>>): void {
  const [param, value] = Object.entries(stated).find(([, one]) => one !== undefined) ?? [];
  if (!isNarrow || param === undefined) return;
  refuse(param, `\`${param === 'by' ? `by=${value}` : param}\` is not available with a key with the scope \`report\`.`);
}

const NONE: ReadonlySet<string> = new Set();

/** The view of operators, and the view that a key has of its own data. */
export const FULL_SIGHT: Sight = {
  isNarrow: false,
  showsUpstream: true,
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

/** The services that find names. */
export interface SightSources {
  readonly keys: {
    /** Returns the key with this ID from this server's memory. */
    known(id: string): SeenKey | null;
    /** Returns several keys by ID, including revoked keys. Rejects with StoreError. */
    named(ids: Iterable<string>): Promise<ReadonlyMap<string, SeenKey>>;
    /** Returns the IDs of the keys in memory that match. */
    idsWhere(matches: (info: SeenKey) => boolean): readonly string[];
    /** Returns the IDs of the keys of a team, of a user or with a name, including revoked keys. Rejects with StoreError. */
    idsOf(of: KeyOwner): Promise<readonly string[]>;
  };
  policy(): Pick<PolicySnapshot, 'budgets'> & { readonly records: Pick<PolicySnapshot['records'], 'reportedRuns'> };
}

/**
 * Returns what a caller may see. Reports see names instead of IDs. Reports and finance see only the sessions and agents that the policy
 * shows.
 */
export function sightOf(caller: Caller, { keys, policy }: SightSources): Sight {
  const learned = new Map<string, SeenKey>();
  const known = (id: string): SeenKey | null => keys.known(id) ?? learned.get(id) ?? null;
  const nameOf: Sight['nameOf'] = (id) => addressOf(id) ?? known(id)?.name ?? null;
  // An ID that is not in memory may be the name of keys, or the ID of a revoked key.
  const idsOf: Sight['idsOf'] = async (key) =>
    known(key) === null ? [key, ...(await keys.idsOf({ name: key }))] : [key];
  const common: Pick<Sight, 'nameOf' | 'showsUpstream' | 'knowsKeys' | 'learn' | 'idsWithin'> = {
    nameOf,
    showsUpstream: isOperator(caller),
    knowsKeys: true,
    async learn(ids) {
      const missing = [...ids].filter((id) => known(id) === null);
      if (missing.length > 0) for (const [id, key] of await keys.named(missing)) learned.set(id, key);
    },
    async idsWithin(reach) {
      if (reach === 'all') return null;
      // A key that belongs to no person reaches only itself.
      const others = caller.role === undefined ? [] : await keysWithin(reach, caller, keys);
      return new Set([caller.keyId, ...others]);
    },
  };
  const sources = { known, policy };
  switch (roleOf(caller)) {
    case 'report':
      return { ...reportSight(keys, sources), ...common };
    case 'finance':
      return { ...FULL_SIGHT, idsOf, ...runsOf(sources, FULL_SIGHT.keyOf), ...common };
    default:
      return { ...FULL_SIGHT, idsOf, ...common };
  }
}

/** The IDs of the keys within a reach. For keys in memory, their current owners count; for revoked keys, their stored owners. */
async function keysWithin(reach: Reach, caller: Caller, keys: SightSources['keys']): Promise<readonly string[]> {
  const isOwn = (key: SeenKey) => isWithin(reach, caller, key);
  const present = keys.idsWhere(isOwn);
  const { user = null, team = null } = caller;
  const stored = await keys.idsOf({ user, team: reach === 'team' ? team : null });
  return [...present, ...stored.filter((id) => isOwn(keys.known(id) ?? { id, user, team, name: '', labels: {} }))];
}

/** The services that find the names of sessions and agents. */
interface RunSources extends Pick<SightSources, 'policy'> {
  known(id: string): SeenKey | null;
}

function reportSight(
  keys: SightSources['keys'],
  sources: RunSources,
): Omit<Sight, 'idsWithin' | 'nameOf' | 'showsUpstream' | 'knowsKeys' | 'learn'> {
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

/** Shows only the sessions and agents that the policy shows, and keys in the form of `keyOf`. */
function runsOf({ known, policy }: RunSources, keyOf: Sight['keyOf']): Pick<Sight, 'showsRunsOf' | 'titleOf'> {
  const {
    budgets,
    records: { reportedRuns },
  } = policy();
  const showsRunsOf: Sight['showsRunsOf'] = (id, labels) => {
    try {
      return reportedRuns?.({ ...NO_CALLER, key: readKey({ keyId: id, labels }) }) ?? false;
    } catch {
      // If the condition of a rule about visibility fails, nothing is shown. A limit, in contrast, applies if its condition fails.
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

/** The holder of a budget. Users are persons, so the text does not name them. */
function shownHolder(level: HolderKind, subject: string, keyOf: Sight['keyOf']): string {
  if (level === 'key') return keyOf(subject);
  return level === 'user' ? '' : subject;
}

/**
 * The subject of a budget whose `each` may contain the ID of a key: the name of the key, or nothing if `each` contains more than the ID.
 */
function plainSubject(subject: string, budget: Budget | undefined, keyOf: Sight['keyOf']): string {
  return budget && !budget.readsKeyId ? subject : keyOf(subject);
}

function splitAt(text: string, sign: string): readonly [string, string] {
  const at = text.indexOf(sign);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
