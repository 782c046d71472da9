import type { CallerLevel, HolderKind, KeyBudget } from './caller.ts';

/** A level with the budgets that it has. */
export interface HolderBudgets {
  readonly kind: HolderKind;
  /** Of the key, user or team; one organization needs none, and its ID is ''. */
  readonly id: string;
  readonly budgets: readonly KeyBudget[];
}

/** Names a level for its caller, within a sentence. */
export const levelName = ({ kind, name }: Pick<CallerLevel, 'kind' | 'name'>): string =>
  kind === 'organization' ? 'the organization' : `the ${kind} \`${name}\``;

/** Which keys descend from which. A key's line never changes. */
export interface KeyLines {
  /** The IDs of the keys that a key descends from, the nearest first. */
  lineOf(keyId: string): readonly string[];
  /** The IDs of all keys that descend from a key. */
  descendantsOf(keyId: string): readonly string[];
}

/** Of keys that nothing descends from. */
export const NO_LINES: KeyLines = { lineOf: () => [], descendantsOf: () => [] };
