import type { Caller, CallerLevel, HolderKind, KeyBudget } from '../people/caller.ts';

/** The level that a budget belongs to. */
export interface BudgetHolder {
  readonly kind: HolderKind;
  /** ID of the key, user or team. The ID of the organization is '', because there is only one. */
  readonly id: string;
}

/** A level with its budgets. */
export interface HolderBudgets extends BudgetHolder {
  readonly budgets: readonly KeyBudget[];
}

/** Names a level within a sentence for its caller. */
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

/** Knows which keys descend from which other keys. The ancestors of a key never change. */
export interface KeyLines {
  /** Returns the IDs of the keys above a key, the parent first. */
  lineOf(keyId: string): readonly string[];
  /** Returns a function like `lineOf` for these keys. The returned function also covers keys that were revoked long ago. */
  linesOf(keyIds: Iterable<string>): Promise<(keyId: string) => readonly string[]>;
  /** Returns the IDs of keys that descend from a key, at most `limit`. */
  descendantsOf(keyId: string, limit: number): Promise<readonly string[]>;
}

/** The key lines of installations without child keys. */
export const NO_LINES: KeyLines = {
  lineOf: () => [],
  linesOf: async () => () => [],
  descendantsOf: async () => [],
};
