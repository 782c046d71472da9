import type { BudgetScope } from '../core/budget.ts';
import type { RuleScope } from '../core/rules.ts';
import { type Checked, checkExpression, checkText, type Program, type TextProgram, type Texts } from './cel-check.ts';
import { createCosts } from './cel-costs.ts';
import { findImpossible } from './cel-reach.ts';
import { checkReferences, type KnownNames } from './cel-references.ts';
import { budgetViewOf, limitViewOf, type Sight, viewOf } from './cel-types.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';
import type { ExpressionDraft } from './rule-drafts.ts';

/** Checks the expressions of one policy; null for none, and for one that is wrong. */
export interface Checker {
  /** What is judged by the catalog. */
  of(draft: ExpressionDraft | null, sight: Sight): Program | null;
  /** The condition of a rule. */
  when(draft: ExpressionDraft | null): Program | null;
  /** The condition of a budget or rate limit. */
  match(draft: ExpressionDraft | null, sight: 'budget' | 'limit'): Program | null;
  /** Whose share a budget or rate limit is. */
  each(draft: ExpressionDraft | null, sight: 'budget' | 'limit'): TextProgram | null;
  /** Whether all expressions that were checked are within the limits of a policy's work; where not, the report says so. */
  reviewTotals(): boolean;
}

export function createChecker(parsed: ParsedPolicy, report: Report): Checker {
  const texts: Texts = new Map(parsed.files.map(({ path, text }) => [path, text ?? '']));
  const names: KnownNames = {
    tasks: parsed.tasks.map(({ name }) => name),
    models: [...parsed.modelIds.keys()],
    selectors: parsed.selectors.map(({ name }) => name),
    providers: parsed.providers.map(({ name }) => name),
  };
  const costs = createCosts(parsed, report);
  // Before anything evaluates it.
  const affordable = <Expression extends Checked<unknown>>(program: Expression | null, sight: Sight) =>
    program && costs.admit(program, sight) ? program : null;
  const check = (draft: ExpressionDraft | null, sight: Sight): Program | null => {
    const program = affordable(draft && checkExpression(draft, sight, texts, report), sight);
    if (program) checkReferences(program, names, report);
    return program;
  };
  return {
    // What names something that is not there fits no model, which then goes without saying.
    of(draft, sight) {
      const before = report.found.length;
      const program = check(draft, sight);
      return report.found.length === before ? program : null;
    },
    when(draft) {
      const program = check(draft, 'when');
      if (program) checkCondition(program, OF_RULES, report);
      return program;
    },
    match(draft, sight) {
      const program = check(draft, sight);
      if (program) checkCondition(program, sight === 'budget' ? OF_BUDGETS : OF_LIMITS, report);
      return program;
    },
    each(draft, sight) {
      const program = affordable(draft && checkText(draft, sight, texts, report), sight);
      if (program) checkReferences(program, names, report);
      return program;
    },
    reviewTotals: costs.reviewTotals,
  };
}

/** A request that says nothing: what a condition must bear. */
const NOTHING: RuleScope = {
  request: {
    model: 'auto',
    task: 'general',
    difficulty: 'usual',
    input_tokens: 0,
    max_tokens: 0,
    stream: false,
    tools: false,
    images: 0,
    output_tokens: 0,
    needs: [],
    languages: [],
    natural_language: '',
    budget_limit: 0,
    user: '',
    metadata: new Map(),
  },
  key: { id: '', labels: new Map() },
  time: { year: 2026, month: 10, day: 7, weekday: 3, hour: 12, minute: 0 },
};

/** The same for a budget: a key that has no labels. */
export const BARE: BudgetScope = { request: { model: 'auto' }, key: { id: 'k', labels: new Map() } };

interface Kind {
  readonly nothing: Parameters<Program['run']>[0];
  readonly toSwitchOff: string;
  readonly toAskFirst: string;
}

const OF_RULES: Kind = {
  nothing: viewOf(NOTHING),
  toSwitchOff: 'to switch a rule off, put it in a comment',
  toAskFirst: 'request.metadata.n != "" && double(request.metadata.n) > 3.0',
};
const OF_BUDGETS: Kind = {
  nothing: budgetViewOf(BARE),
  toSwitchOff: 'to switch a budget off, put it in a comment',
  toAskFirst: 'key.labels.level != "" && double(key.labels.level) > 3.0',
};
const OF_LIMITS: Kind = {
  nothing: limitViewOf(BARE),
  toSwitchOff: 'to switch a rate limit off, put it in a comment',
  toAskFirst: OF_BUDGETS.toAskFirst,
};

function checkCondition(program: Program, { nothing, toSwitchOff, toAskFirst }: Kind, report: Report): void {
  const { path } = program.draft;
  const impossible = findImpossible(program.ast, () => tryRun(program, nothing).value === true);
  if (impossible) {
    const message = `\`${path}\` can never be true: ${impossible.message}`;
    const hint = impossible.hint ?? toSwitchOff;
    report.add('rule-never-applies', program.placeOf(impossible.at), message, { hint });
    return;
  }
  const { failure } = tryRun(program, nothing);
  if (failure === undefined) return;
  report.add('when-can-fail', program.placeOf(program.ast), `\`${path}\` fails for some: ${failure}`, {
    hint: `ask first whether there is something: \`${toAskFirst}\``,
  });
}

/** What an expression is of something, or why it fails. */
export function tryRun<Value>(
  program: { run(view: Kind['nothing']): Value },
  view: Kind['nothing'],
): { readonly value?: Value; readonly failure?: string } {
  try {
    return { value: program.run(view) };
  } catch (error) {
    return { failure: reasonOf(error) };
  }
}

/** Why an expression failed, in a line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] ?? text;
}
