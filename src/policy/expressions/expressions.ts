import type { TeamNames } from '../../core/people/people.ts';
import { aliasNames, aliasTarget } from '../../core/policy/alias-names.ts';
import {
  type CheckedExpression,
  CONDITION,
  checkExpression,
  type FileTexts,
  type Program,
  TEXT,
  type TextProgram,
} from '../cel/check.ts';
import { reviewClaims } from '../cel/claim-membership.ts';
import { findContradiction } from '../cel/contradictions.ts';
import { checkReferences, type ReferenceNames } from '../cel/references.ts';
import { costlyPart, EXPRESSION_STEPS_MAX } from '../cel/steps.ts';
import { EMPTY_GUARDED, EMPTY_KEY, EMPTY_REQUEST, tryRun } from '../cel/trials.ts';
import { budgetViewOf, type CelKind, guardViewOf, limitViewOf, viewOf } from '../cel/types.ts';
import type { SentName } from '../check/cases.ts';
import type { ExpressionDraft } from '../check/rule-drafts.ts';
import type { NamedParts } from '../models/named-parts.ts';
import { openNames, type PublicFigures } from '../models/wildcard-names.ts';
import type { Report } from '../report/report.ts';
import { type KnownLabels, knownValues, type NamedLabel, reviewLabel, reviewValues } from './misspelt-values.ts';
import { createTeamChecker } from './team-names.ts';

export type ExpressionChecker = ReturnType<typeof createChecker>;

/** The data that expressions may refer to. */
interface CheckerContext {
  readonly labels: KnownLabels;
  /** The teams in the store; null if they are not known. */
  readonly teams: TeamNames | null;
  readonly facts: PublicFigures | null;
}

/** Makes the checker for the expressions of one policy. Each check of an expression returns null for an absent or wrong expression. */
export function createChecker(
  parsed: NamedParts & { readonly own?: { readonly guards: readonly { readonly name: string }[] } },
  { labels, teams: known, facts }: CheckerContext,
  report: Report,
) {
  const texts: FileTexts = new Map(parsed.files.map(({ path, text }) => [path, text ?? '']));
  const names: ReferenceNames = {
    tasks: parsed.tasks.map(({ name }) => name),
    guards: (parsed.own?.guards ?? []).map(({ name }) => name),
    models: [...parsed.modelIds.keys()],
    selectors: parsed.selectors.map(({ name }) => name),
    aliases: parsed.aliases,
    defaultAliases: aliasNames(parsed.defaultAliases),
    providers: parsed.providers.map(({ name }) => name),
    wildcard: openNames(parsed, facts),
  };
  const values = knownValues(parsed, labels);
  const teams = createTeamChecker(parsed, known, report);
  const admitted = <Expression extends CheckedExpression<unknown>>(program: Expression | null, kind: CelKind) => {
    if (!program || !isAffordable(program, kind, report)) return null;
    checkReferences(program, names, report);
    teams.note(program);
    return program;
  };
  const sendable = new Set([...names.selectors, ...names.models, ...names.aliases.keys()]);
  return {
    /** Checks a name that callers send. A name that callers send may be known only from public figures. */
    sent({ name, place }: SentName): void {
      if (sendable.has(name) || names.wildcard(name) !== null) return;
      if (aliasTarget(names.defaultAliases, name) !== null) return;
      report.addUnknown('selector or model', name, sendable, place);
    },
    /** Checks the ID of a model that an issuer of tokens admits. */
    model({ name, place }: SentName): void {
      if (names.models.includes(name) || names.wildcard(name) === name) return;
      report.addUnknown('model', name, names.models, place);
    },
    /** Checks the key label that metrics use. */
    metered(label: NamedLabel | null): void {
      if (label) reviewLabel(label, values.labels, report);
      teams.noteLabel(label);
    },
    /**
     * Checks an expression over the catalog. An expression with an unknown name matches no model, and `of` does not report this second
     * problem.
     */
    of(draft: ExpressionDraft | null, kind: CelKind): Program | null {
      const before = report.found.length;
      const program = admitted(draft && checkExpression(CONDITION, draft, kind, texts, report), kind);
      if (!program || report.found.length > before) return null;
      reviewValues(program, values, report);
      return program;
    },
    /** Checks the condition of a rule, budget or rate limit. */
    condition(draft: ExpressionDraft | null, kind: keyof typeof CONDITIONS): Program | null {
      const program = admitted(draft && checkExpression(CONDITION, draft, kind, texts, report), kind);
      const resolved = program && kind === 'budget' ? teams.resolved(program) : program;
      if (!resolved) return null;
      checkCondition(resolved, CONDITIONS[kind], report);
      reviewValues(resolved, values, report);
      if (kind !== 'budget') teams.reviewNames(resolved);
      return resolved;
    },
    each(draft: ExpressionDraft | null, kind: 'budget' | 'limit'): TextProgram | null {
      const program = admitted(draft && checkExpression(TEXT, draft, kind, texts, report), kind);
      if (!program || (kind === 'budget' && teams.isGroupedByName(program))) return null;
      reviewValues(program, values, report);
      return program;
    },
    /** Checks a condition on the claims of a token. A condition on claims that fails counts as false, so failures need no warning. */
    ofClaims: (draft: ExpressionDraft | null): Program | null =>
      admitted(draft && checkExpression(CONDITION, draft, 'claims', texts, report), 'claims'),
    /** Checks an expression that makes a text from the claims of a token. */
    textOfClaims: (draft: ExpressionDraft | null): TextProgram | null =>
      admitted(draft && checkExpression(TEXT, draft, 'claims', texts, report), 'claims'),
    /**
     * Reviews the expressions for the tokens of one issuer together, because one expression can reveal the type of a claim that another
     * expression reads.
     */
    claimsOfIssuer: (programs: readonly (CheckedExpression<unknown> | null)[]): void =>
      reviewClaims(
        programs.filter((program) => program !== null),
        report,
      ),
    teams,
  };
}

/** Whether an expression takes few enough steps. `isAffordable` reports the part of the expression that takes too many steps. */
function isAffordable(program: CheckedExpression<unknown>, kind: CelKind, report: Report): boolean {
  const costly = costlyPart(program.ast, kind);
  if (!costly) return true;
  const part = costly === program.ast ? 'the expression' : 'this part of the expression';
  const message = `${part} can take more than ${EXPRESSION_STEPS_MAX.toLocaleString('en')} steps`;
  const hint =
    'nested loops multiply, and lists and texts from callers count with their maximum length: loop over shorter lists';
  report.add('cel-too-costly', program.placeOf(costly), message, { hint });
  return false;
}

const OF_KEYS = 'key.labels.level != "" && double(key.labels.level) > 3.0';
const CONDITIONS = {
  when: {
    owner: 'rule',
    nothing: viewOf(EMPTY_REQUEST),
    toAskFirst: 'request.metadata.n != "" && double(request.metadata.n) > 3.0',
  },
  guard: {
    owner: 'guard',
    nothing: guardViewOf(EMPTY_GUARDED),
    toAskFirst: 'request.metadata.n != "" && double(request.metadata.n) > 3.0',
  },
  budget: { owner: 'budget', nothing: budgetViewOf(EMPTY_KEY), toAskFirst: OF_KEYS },
  limit: { owner: 'rate limit', nothing: limitViewOf(EMPTY_KEY), toAskFirst: OF_KEYS },
} satisfies Partial<Record<CelKind, unknown>>;
type ConditionKind = (typeof CONDITIONS)[keyof typeof CONDITIONS];

function checkCondition(program: Program, { owner, nothing, toAskFirst }: ConditionKind, report: Report): void {
  const { path } = program.draft;
  const impossible = findContradiction(program.ast, () => tryRun(program, nothing).value !== false);
  if (impossible) {
    const message = `\`${path}\` can never be true: ${impossible.message}`;
    const hint = impossible.hint ?? `to turn the ${owner} off, comment it out`;
    report.add('rule-never-applies', program.placeOf(impossible.at), message, { hint });
    return;
  }
  const { failure } = tryRun(program, nothing);
  if (failure === undefined) return;
  report.add('when-can-fail', program.placeOf(program.ast), `\`${path}\` fails for some requests: ${failure}`, {
    hint: `test first that the value exists: \`${toAskFirst}\``,
  });
}
