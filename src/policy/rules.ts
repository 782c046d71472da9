import type { Program } from './cel-check.ts';
import type { ExpressionChecker } from './expressions.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';
import { type ConstraintDraft, expressionAt, type PreferenceDraft } from './rule-drafts.ts';

export interface CheckedConstraint {
  readonly draft: ConstraintDraft;
  readonly when: Program | null;
  readonly require: Program | null;
}

export interface CheckedPreference {
  readonly draft: PreferenceDraft;
  readonly when: Program | null;
  readonly prefer: Program | null;
}

export interface CheckedFilter {
  readonly selector: string;
  readonly require: Program;
}

/** The rules of a policy with their checked expressions; null for an expression that is absent or wrong. */
export interface CheckedRules {
  readonly constraints: readonly CheckedConstraint[];
  readonly preferences: readonly CheckedPreference[];
  readonly filters: readonly CheckedFilter[];
}

/** Checks every expression of the rules and selectors. */
export function* checkRules(
  parsed: ParsedPolicy,
  check: ExpressionChecker,
  report: Report,
): Generator<undefined, CheckedRules> {
  const constraints: CheckedConstraint[] = [];
  for (const draft of parsed.constraints) {
    constraints.push({ draft, when: check.when(draft.when), require: check.of(draft.require, 'constraint') });
    yield;
  }
  const preferences: CheckedPreference[] = [];
  for (const draft of parsed.preferences) {
    preferences.push({ draft, when: check.when(draft.when), prefer: check.of(draft.prefer, 'model') });
    if (draft.worth === 0) {
      const message = `preference \`${draft.name}\` is worth nothing`;
      report.add('prefers-none', draft.worthPlace, message, { hint: 'remove it, or give it a worth' });
    }
    yield;
  }
  const filters: CheckedFilter[] = [];
  for (const named of parsed.selectors) {
    const require = check.of(expressionAt(named, 'models', 'require'), 'model');
    if (require) filters.push({ selector: named.name, require });
    yield;
  }
  return { constraints, preferences, filters };
}
