import type { Place } from './diagnostics.ts';
import { ConstraintText, PreferenceText } from './schema-rules.ts';
import { checkList, type Named, type Source } from './scope.ts';
import { type ScalarTree, type Tree, valueAt } from './tree.ts';

/** An expression as the policy states it. */
export interface ExpressionDraft {
  /** Such as `constraints.legal.when`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ScalarTree;
}

interface RuleDraft {
  readonly name: string;
  /** Of its name. */
  readonly place: Place;
  readonly when: ExpressionDraft | null;
  /** False where a key of it is wrong: then only its expressions are looked at. */
  readonly isWhole: boolean;
}

export interface ConstraintDraft extends RuleDraft {
  readonly require: ExpressionDraft | null;
  readonly maxLatencyMs: number | null;
  readonly maxCostCredits: number | null;
}

export interface PreferenceDraft extends RuleDraft {
  readonly prefer: ExpressionDraft | null;
  /** Null where it is wrong. */
  readonly worth: number | null;
  readonly worthPlace: Place;
}

/** The constraints of the policy, checked but for their expressions. */
export function draftConstraints(source: Source): ConstraintDraft[] {
  return checkList('constraints', ConstraintText, source).map((named) => {
    const { data, path } = named;
    const require = expressionAt(named, 'require');
    const { max_latency_ms: maxLatencyMs = null, max_cost_credits: maxCostCredits = null } = data ?? {};
    if (data && !require && maxLatencyMs === null && maxCostCredits === null) {
      const message = `\`${path}\` limits nothing: it needs the key \`require\`, \`max_latency_ms\` or \`max_cost_credits\``;
      source.report.add('missing-key', placeOf(named), message);
    }
    return { ...ruleOf(named), require, maxLatencyMs, maxCostCredits };
  });
}

/** The preferences of the policy, checked but for their expressions. */
export function draftPreferences(source: Source): PreferenceDraft[] {
  return checkList('preferences', PreferenceText, source).map((named) => {
    const prefer = expressionAt(named, 'prefer');
    const worthPlace = valueAt(named.tree, 'worth')?.place ?? named.place;
    return { ...ruleOf(named), prefer, worth: named.data?.worth ?? null, worthPlace };
  });
}

function ruleOf(named: Named<unknown>): RuleDraft {
  return { name: named.name, place: placeOf(named), when: expressionAt(named, 'when'), isWhole: named.data !== null };
}

function placeOf({ tree, place }: Named<unknown>): Place {
  return valueAt(tree, 'name')?.place ?? place;
}

/** The expression under a key; null where there is none. */
export function expressionAt(
  { path, tree }: { readonly path: string; readonly tree: Tree },
  ...keys: readonly string[]
): ExpressionDraft | null {
  const at = valueAt(tree, ...keys);
  if (at?.kind !== 'scalar' || typeof at.value !== 'string') return null;
  return { path: [path, ...keys].join('.'), text: at.value, tree: at };
}
