import type { RuleScope } from '../core/rules.ts';
import { checkExpression, type Program, type Texts } from './cel-check.ts';
import { findImpossible } from './cel-reach.ts';
import { checkReferences, type KnownNames } from './cel-references.ts';
import { type Sight, viewOf } from './cel-types.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';
import { type ConstraintDraft, type ExpressionDraft, expressionAt, type PreferenceDraft } from './rule-drafts.ts';

/** A constraint with its checked expressions. */
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

/** The filter of a selector. */
export interface CheckedFilter {
  readonly selector: string;
  readonly require: Program;
}

/** The rules of a policy, checked; null expressions where there are none, or where they are wrong. */
export interface CheckedRules {
  readonly constraints: readonly CheckedConstraint[];
  readonly preferences: readonly CheckedPreference[];
  readonly filters: readonly CheckedFilter[];
}

/** Checks every expression of a policy, by its types and by the names in it. */
export function* checkRules(parsed: ParsedPolicy, report: Report): Generator<undefined, CheckedRules> {
  const check = checker(parsed, report);
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

function checker(parsed: ParsedPolicy, report: Report) {
  const texts: Texts = new Map(parsed.files.map(({ path, text }) => [path, text ?? '']));
  const names: KnownNames = {
    tasks: parsed.tasks.map(({ name }) => name),
    models: [...parsed.modelIds.keys()],
    selectors: parsed.selectors.map(({ name }) => name),
    providers: parsed.providers.map(({ name }) => name),
  };
  const check = (draft: ExpressionDraft | null, sight: Sight): Program | null => {
    const program = draft && checkExpression(draft, sight, texts, report);
    if (program) checkReferences(program, names, report);
    return program;
  };
  // What names something that is not there fits no model, which then goes without saying.
  const of = (draft: ExpressionDraft | null, sight: Sight): Program | null => {
    const before = report.found.length;
    const program = check(draft, sight);
    return report.found.length === before ? program : null;
  };
  const when = (draft: ExpressionDraft | null): Program | null => {
    const program = check(draft, 'when');
    if (program) checkCondition(program, report);
    return program;
  };
  return { of, when };
}

/** A request that says nothing: what a condition must bear. */
const NOTHING: RuleScope = {
  request: {
    model: 'auto',
    task: 'general',
    input_tokens: 0,
    max_tokens: 0,
    stream: false,
    tools: false,
    images: 0,
    languages: [],
    budget_limit: 0,
    user: '',
    metadata: new Map(),
  },
  key: { id: '', labels: new Map() },
  time: { year: 2026, month: 10, day: 7, weekday: 3, hour: 12, minute: 0 },
};

function checkCondition(program: Program, report: Report): void {
  const impossible = findImpossible(program.ast, () => runs(program) === true);
  if (impossible) {
    const message = `\`${program.draft.path}\` can never be true: ${impossible.message}`;
    const hint = impossible.hint ?? 'to switch a rule off, put it in a comment';
    report.add('rule-never-applies', program.placeOf(impossible.at), message, { hint });
    return;
  }
  const tried = runs(program);
  if (tried === true || tried === false) return;
  report.add('when-can-fail', program.placeOf(program.ast), `\`${program.draft.path}\` fails for some: ${tried}`, {
    hint: 'ask first whether there is something: `request.metadata.n != "" && double(request.metadata.n) > 3.0`',
  });
}

function runs(program: Program): boolean | string {
  try {
    return program.run(viewOf(NOTHING));
  } catch (error) {
    return reasonOf(error);
  }
}

/** Why an expression failed, in a line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] ?? text;
}
