import type { TeamNames } from '../../core/people/people.ts';
import { aliasTarget } from '../../core/policy/alias-names.ts';
import {
  type CheckedExpression,
  CONDITION,
  checkExpression,
  type FileTexts,
  type Program,
  TEXT,
} from '../cel/check.ts';
import { reviewClaims } from '../cel/claim-membership.ts';
import { findContradiction } from '../cel/contradictions.ts';
import { checkReferences, type ReferenceNames } from '../cel/references.ts';
import { costlyPart, EXPRESSION_STEPS_MAX } from '../cel/steps.ts';
import { EMPTY_GUARDED, EMPTY_KEY, EMPTY_REQUEST, tryRun } from '../cel/trials.ts';
import { budgetViewOf, type CelKind, guardViewOf, limitViewOf, viewOf } from '../cel/types.ts';
import type { ExpressionChecker } from '../define/expression-checker.ts';
import type { DraftReader } from '../define/section.ts';
import { GUARDS } from '../guards/guards.ts';
import { MODELS } from '../models/catalog.ts';
import type { PublicFigures } from '../models/wildcard-names.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { Report } from '../report/report.ts';
import { TASKS } from '../sections/tasks.ts';
import { DEFAULT_ALIASES } from '../sections/values.ts';
import { openNamesOf, SELECTORS } from '../selectors/selectors.ts';
import type { PolicyFile } from '../yaml/parse.ts';
import { type KnownLabels, knownValues, reviewLabel, reviewValues } from './misspelt-values.ts';
import { createTeamChecker, type TeamChecker } from './team-names.ts';

/** The policy and the stored data that expressions may refer to. */
interface CheckerContext {
  readonly files: readonly PolicyFile[];
  readonly of: DraftReader;
  readonly labels: KnownLabels;
  /** The teams in the store; null if they are not known. */
  readonly teams: TeamNames | null;
  readonly facts: PublicFigures | null;
}

/** The checker, and the teams in the expressions that it has checked. */
type TeamsChecker = ExpressionChecker & { readonly teams: TeamChecker };

/** Makes the checker for the expressions of one policy. */
export function createChecker(
  { files, of, labels, teams: known, facts }: CheckerContext,
  report: Report,
): TeamsChecker {
  const namesIn = (named: readonly { readonly name: string }[]) => named.map(({ name }) => name);
  const texts: FileTexts = new Map(files.map(({ path, text }) => [path, text ?? '']));
  const names: ReferenceNames = {
    tasks: namesIn(of(TASKS)),
    guards: namesIn(of(GUARDS)),
    models: [...of(MODELS).ids.keys()],
    selectors: namesIn(of(SELECTORS).named),
    aliases: of(SELECTORS).aliases,
    defaultAliases: of(DEFAULT_ALIASES),
    providers: namesIn(of(PROVIDERS).named),
    wildcard: openNamesOf(of, facts),
  };
  const values = knownValues(of, labels);
  const teams = createTeamChecker(of, known, report);
  const admitted = <Expression extends CheckedExpression<unknown>>(program: Expression | null, kind: CelKind) => {
    if (!program || !isAffordable(program, kind, report)) return null;
    checkReferences(program, names, report);
    teams.note(program);
    return program;
  };
  const sendable = new Set([...names.selectors, ...names.models, ...names.aliases.keys()]);
  return {
    sent({ name, place }) {
      if (sendable.has(name) || names.wildcard(name) !== null) return;
      if (aliasTarget(names.defaultAliases, name) !== null) return;
      report.addUnknown('selector or model', name, sendable, place);
    },
    model({ name, place }) {
      if (names.models.includes(name) || names.wildcard(name) === name) return;
      report.addUnknown('model', name, names.models, place);
    },
    metered(label) {
      reviewLabel(label, values.labels, report);
      teams.noteLabel(label);
    },
    of(draft, kind) {
      const before = report.found.length;
      const program = admitted(draft && checkExpression(CONDITION, draft, kind, texts, report), kind);
      if (!program || report.found.length > before) return null;
      reviewValues(program, values, report);
      return program;
    },
    condition(draft, kind) {
      const program = admitted(draft && checkExpression(CONDITION, draft, kind, texts, report), kind);
      const resolved = program && kind === 'budget' ? teams.resolved(program) : program;
      if (!resolved) return null;
      checkCondition(resolved, CONDITIONS[kind], report);
      reviewValues(resolved, values, report);
      if (kind !== 'budget') teams.reviewNames(resolved);
      return resolved;
    },
    each(draft, kind) {
      const program = admitted(draft && checkExpression(TEXT, draft, kind, texts, report), kind);
      if (!program || (kind === 'budget' && teams.isGroupedByName(program))) return null;
      reviewValues(program, values, report);
      return program;
    },
    ofClaims: (draft) => admitted(draft && checkExpression(CONDITION, draft, 'claims', texts, report), 'claims'),
    textOfClaims: (draft) => admitted(draft && checkExpression(TEXT, draft, 'claims', texts, report), 'claims'),
    claimsOfIssuer: (programs) =>
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
