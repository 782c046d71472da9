import type { FundTitle } from '../accounting/fund.ts';
import type { Budget } from '../core/budget.ts';
import { type Caller, roleOf } from '../core/caller.ts';
import { addressOf } from '../core/holder-address.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { isOfKeys } from '../ledger/key-budgets.ts';
import type { KeyInfo } from '../store/keys.ts';

type Title = FundTitle;

/** How much an asker is shown of keys, and of the runs of agents. */
export interface Sight {
  /** Whether names stand for the IDs of keys, and words of callers are left out. */
  readonly isNarrow: boolean;
  /** The ID of a key as it is shown, or its name; the address of a wallet is shown as it is. */
  keyOf(id: string): string;
  /** Whether the sessions and agents that a key names are shown. */
  showsRunsOf(id: string, labels: Caller['labels']): boolean;
  /** The IDs that a filter by key means. */
  idsOf(key: string): readonly string[];
  titleOf(title: Title): Title;
}

/** The sight of operators, and of a key on its own data. */
export const FULL_SIGHT: Sight = {
  isNarrow: false,
  keyOf: (id) => id,
  showsRunsOf: () => true,
  idsOf: (key) => [key],
  titleOf: (title) => title,
};

/** What names are looked up in. */
export interface SightSources {
  readonly keys: {
    /** The key of this ID as this instance knows it, revoked or not. */
    known(id: string): Pick<KeyInfo, 'name' | 'labels'> | null;
    /** The IDs of the keys of a name. */
    named(name: string): readonly string[];
  };
  policy(): Pick<PolicySnapshot, 'budgets' | 'reportedRuns'>;
}

/** The sight of a caller: that of reports, or the full one. */
export function sightOf(caller: Caller, sources: SightSources): Sight {
  return roleOf(caller) === 'report' ? reportSight(sources) : FULL_SIGHT;
}

function reportSight({ keys, policy }: SightSources): Sight {
  const { budgets, reportedRuns } = policy();
  const keyOf = (id: string) => addressOf(id) ?? keys.known(id)?.name ?? '';
  const showsRunsOf: Sight['showsRunsOf'] = (id, labels) => {
    try {
      return reportedRuns?.({ key: { id, labels: new Map(Object.entries(labels)) } }) ?? false;
    } catch {
      // Unlike a limit, a condition that fails shows nothing.
      return false;
    }
  };
  const subjectOf = ({ name, definition, subject }: Title): string => {
    if (isOfKeys(definition)) return keyOf(subject);
    const budget = budgets.find((one) => one.name === name && one.definition === definition);
    if (!budget?.isOfSessions) return plainSubject(subject, budget, keyOf);
    const [id = '', session = ''] = splitAt(subject, '/');
    return showsRunsOf(id, keys.known(id)?.labels ?? {}) ? `${keyOf(id)}/${session}` : keyOf(id);
  };
  return {
    isNarrow: true,
    keyOf,
    showsRunsOf,
    idsOf: (key) => (addressOf(key) === null ? keys.named(key) : [key.toLowerCase()]),
    titleOf: (title) =>
      title.kind === 'balance'
        ? { ...title, name: keyOf(title.name) }
        : { ...title, subject: title.subject && subjectOf(title) },
  };
}

/** The subject of a budget whose `each` may read the ID of a key: its name, or nothing where more than the ID was read. */
function plainSubject(subject: string, budget: Budget | undefined, keyOf: Sight['keyOf']): string {
  return budget && !budget.readsKeyId ? subject : keyOf(subject);
}

function splitAt(text: string, sign: string): readonly [string, string] {
  const at = text.indexOf(sign);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
