import { optional } from '../../core/define/fields.ts';
import { expression } from '../../core/define/policy-words.ts';
import type { Program } from '../cel/check.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import type { NamedItem } from '../check/section-checks.ts';
import { placeAt } from '../yaml/tree.ts';

/** Reads the part that constraints and preferences share. */
export function draftRule(named: NamedItem<unknown>) {
  const { name, tree, data } = named;
  /** `isWhole` is false if any key of the rule is wrong. If `isWhole` is false, only the expressions of the rule are checked. */
  const isWhole = data !== null;
  return { name, place: placeAt(tree, 'name'), when: expressionAt(named, 'when'), isWhole };
}

/** A rule with its condition, and the expression in the rule's own key; null for an expression that is absent or wrong. */
export type CheckedRule<Draft, Key extends string> = Readonly<
  { draft: Draft; when: Program | null } & Record<Key, Program | null>
>;

/** The description of the name of a rule. */
export const RULE_NAME = 'Name of the rule, in decisions and messages.';

/** The condition of a rule. */
export const when = optional(
  expression(
    'Condition for requests to which the rule applies: CEL over `request`, `key`, `team`, `user`, `time` and `guards`. Default: all requests.',
    'key.labels.department == "legal"',
    'request.task == "coding" && request.input_tokens > 20000.0',
    'time.hour >= 22.0 || time.hour < 6.0',
  ),
);
