import type { CallerLevel, HolderKind, KeyBudget } from './caller.ts';

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
