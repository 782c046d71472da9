import type { Caller, CallerLevel, HolderKind, KeyBudget } from './caller.ts';

/** The level that a budget belongs to. */
export interface BudgetHolder {
  readonly kind: HolderKind;
  /** Of the key, user or team; one organization needs none, and its ID is ''. */
  readonly id: string;
}

/** A level with the budgets that it has. */
export interface HolderBudgets extends BudgetHolder {
  readonly budgets: readonly KeyBudget[];
}

/** Names a level for its caller, within a sentence. */
export const levelName = ({ kind, name }: Pick<CallerLevel, 'kind' | 'name'>): string =>
  kind === 'organization' ? 'the organization' : `the ${kind} \`${name}\``;

/** The team and the user of a caller, as conditions of a policy see them; '' for none. */
export interface CallerGroups {
  readonly team: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly role: string };
}

export const NO_GROUPS: CallerGroups = Object.freeze({
  team: Object.freeze({ id: '', name: '' }),
  user: Object.freeze({ id: '', name: '', role: '' }),
});

export function groupsOf({ team = '', user = '', role, levels = [] }: Caller): CallerGroups {
  if (team === '' && user === '') return NO_GROUPS;
  const levelAt = (kind: HolderKind) => levels.find((level) => level.kind === kind);
  const ofUser = levelAt('user');
  return {
    team: { id: team, name: levelAt('team')?.name ?? '' },
    user: { id: user, name: ofUser?.name ?? '', role: user === '' ? '' : (role ?? ofUser?.role ?? '') },
  };
}

/** Which keys descend from which. A key's line never changes. */
export interface KeyLines {
  /** The IDs of the keys that a key descends from, the nearest first. */
  lineOf(keyId: string): readonly string[];
  /** Returns `lineOf` for these keys, also for those that were revoked a while ago. */
  linesOf(keyIds: Iterable<string>): Promise<(keyId: string) => readonly string[]>;
  /** The IDs of keys that descend from a key, at most `limit`. */
  descendantsOf(keyId: string, limit: number): Promise<readonly string[]>;
}

/** Of keys that nothing descends from. */
export const NO_LINES: KeyLines = {
  lineOf: () => [],
  linesOf: async () => () => [],
  descendantsOf: async () => [],
};
