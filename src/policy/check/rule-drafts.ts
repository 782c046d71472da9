import { ConstraintText, PreferenceText } from '../schema/rules.ts';
import { placeAt, type ScalarTree, type Tree, valueAt } from '../yaml/tree.ts';
import { type AmountContext, creditsAt } from './amounts.ts';
import { checkNeeded } from './key-rules.ts';
import { type CheckContext, checkList, type NamedItem } from './section-checks.ts';

/** An expression that is not checked yet. */
export interface ExpressionDraft {
  /** Path of the expression, such as `constraints.legal.when`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ScalarTree;
}

export type ConstraintDraft = ReturnType<typeof draftConstraints>[number];
export type PreferenceDraft = ReturnType<typeof draftPreferences>[number];

/** Checks the constraints of the policy, except their expressions. */
export function draftConstraints(context: CheckContext & AmountContext) {
  return checkList('constraints', ConstraintText, context).map((named) => {
    const { data, tree } = named;
    const require = expressionAt(named, 'require');
    const maxLatencyMs = data?.max_latency_ms ?? null;
    const { max_cost_credits: amount } = ConstraintText.properties;
    const maxCostCredits = creditsAt(amount, named, 'max_cost_credits', context);
    if (data) checkNeeded(ConstraintText, { ...named, place: placeAt(tree, 'name') }, context.report);
    return { ...ruleOf(named), require, maxLatencyMs, maxCostCredits };
  });
}

/** Checks the preferences of the policy, except their expressions. */
export function draftPreferences(context: CheckContext) {
  return checkList('preferences', PreferenceText, context).map((named) => {
    const prefer = expressionAt(named, 'prefer');
    /** `worth` is null if the figure in the policy is wrong. */
    const worth = named.data?.worth ?? null;
    return { ...ruleOf(named), prefer, worth, worthPlace: placeAt(named.tree, 'worth') };
  });
}

function ruleOf(named: NamedItem<unknown>) {
  const { name, tree, data } = named;
  /** `isWhole` is false if any key of the rule is wrong. If `isWhole` is false, only the expressions of the rule are checked. */
  const isWhole = data !== null;
  return { name, place: placeAt(tree, 'name'), when: expressionAt(named, 'when'), isWhole };
}

/** Returns the expression at a path of keys; null if the policy has no expression there. */
export function expressionAt(
  { path, tree }: { readonly path: string; readonly tree: Tree },
  ...keys: readonly string[]
): ExpressionDraft | null {
  const at = valueAt(tree, ...keys);
  if (at?.kind !== 'scalar' || typeof at.value !== 'string') return null;
  return { path: [path, ...keys].join('.'), text: at.value, tree: at };
}

/** Returns the `each` of a budget or rate limit. The words `key`, `team` and `user` are short for `key.id`, `team.id` and `user.id`. */
export function eachOf(named: NamedItem<unknown>): ExpressionDraft | null {
  const each = expressionAt(named, 'each');
  const owner = each?.text.trim();
  return each && (owner === 'key' || owner === 'team' || owner === 'user') ? { ...each, text: `${owner}.id` } : each;
}
