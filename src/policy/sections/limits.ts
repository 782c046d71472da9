import { serialize } from '@marcbachmann/cel-js';
import { type ASTNode, accessesOf, nodesOf, pathOf } from '../cel/ast.ts';
import type { Program, TextProgram } from '../cel/check.ts';
import { operandsOf } from '../cel/contradictions.ts';
import { EMPTY_KEY, tryRun } from '../cel/trials.ts';
import { budgetViewOf, environmentOf, limitViewOf } from '../cel/types.ts';
import type { ExpressionDraft } from '../check/expression-drafts.ts';
import type { ExpressionChecker } from '../define/expression-checker.ts';
import type { Report } from '../report/report.ts';

/** A budget or rate limit with its checked expressions; null for an expression that is absent or wrong. */
export interface CheckedLimit<Draft> {
  readonly draft: Draft;
  readonly match: Program | null;
  readonly each: TextProgram | null;
}

/** The expressions of a budget or rate limit, and the keywords that can replace an `each`. */
interface LimitDraft {
  readonly match: ExpressionDraft | null;
  readonly each: ExpressionDraft | string | null;
}

/** Checks the expressions of a budget or rate limit. */
export function checkLimit<Draft extends LimitDraft>(
  draft: Draft,
  kind: 'budget' | 'limit',
  check: ExpressionChecker,
  report: Report,
): CheckedLimit<Draft> {
  const match = check.condition(draft.match, kind);
  const each = typeof draft.each === 'string' ? null : check.each(draft.each, kind);
  // With a wrong `match`, it is unknown for which keys `each` runs.
  if (each && (match || !draft.match)) reviewEach({ each, match, kind }, report);
  return { draft, match, each };
}

const VIEWS = { budget: budgetViewOf, limit: limitViewOf } as const;

/** An `each` whose `match` is correct or absent. */
interface GroupedLimit {
  readonly each: TextProgram;
  readonly match: Program | null;
  readonly kind: 'budget' | 'limit';
}

/** The words for the thing that each value of `each` has separately: a window or a limit. */
const UNITS = { budget: 'window', limit: 'limit' } as const;

/** Warns about an `each` that fails, or that probably groups keys by mistake. */
function reviewEach(limit: GroupedLimit, report: Report): void {
  const { each, match, kind } = limit;
  const { ast, placeOf, draft } = each;
  const accesses = [...accessesOf(ast)];
  if (accesses.length === 0) {
    report.add('shared-window', placeOf(ast), `\`${draft.path}\` has the same value for everyone`, {
      hint: `to give everyone one ${UNITS[kind]} together, remove \`each\`; \`team\` gives each team its own, \`key\` each key`,
    });
    return;
  }
  const bare = VIEWS[kind](EMPTY_KEY);
  const { failure } = tryRun(each, bare);
  const isMatched = !match || tryRun(match, bare).value !== false;
  if (failure !== undefined && isMatched) {
    const message = `\`${draft.path}\` fails for some requests, which then count under the empty text: ${failure}`;
    report.add('when-can-fail', placeOf(ast), message, {
      hint: 'require in `match` the value that the expression needs, such as `key.labels.project.contains("-")`',
    });
    return;
  }
  for (const label of new Set(accesses.map(({ path }) => lackOf(path)))) {
    if (label !== null && isShared(label, limit)) warnOfShared(label, limit, report);
  }
}

/** Whether keys without a label share one limit, probably by mistake. */
function isShared(label: string, { each, match, kind }: GroupedLimit): boolean {
  // A comparison with the label shows that the author of the policy thought of keys without it.
  if (isComparedIn(each.ast, label)) return false;
  // A fallback to the ID of the key shows that the author of the policy thought of keys without the label.
  const probe = { ...EMPTY_KEY, key: { ...EMPTY_KEY.key, id: '\u0000' } };
  if (tryRun(each, VIEWS[kind](probe)).value?.includes('\u0000')) return false;
  return !match || !operandsOf(match.ast).some((part) => isDemand(part, label, kind));
}

/** Whether a part of a condition reads only this label and is false for keys without it. */
function isDemand(part: ASTNode, label: string, kind: GroupedLimit['kind']): boolean {
  const accesses = [...accessesOf(part)];
  if (accesses.length === 0 || !accesses.every(({ path }) => lackOf(path) === label)) return false;
  const run = environmentOf(kind).parse(serialize(part));
  return tryRun({ run }, VIEWS[kind](EMPTY_KEY)).value === false;
}

function warnOfShared(label: string, { each: { ast, placeOf, draft }, match, kind }: GroupedLimit, report: Report) {
  const node = [...accessesOf(ast)].find(({ path }) => lackOf(path) === label)?.node ?? ast;
  const written = node.input.slice(node.start, node.end);
  const message = `\`${draft.path}\` gives all keys without ${label} one ${UNITS[kind]} together`;
  const orOthers = `${written} == "" ? "others" : ${written}`;
  const toName = node === ast ? `\`each: '${orOthers}'\`` : `\`(${orOthers})\` for it, and quotes around the whole`;
  const toExclude = demandOf(`${written} != ""`, match);
  report.add('shared-window', placeOf(node), message, {
    hint: `to exclude them, ${toExclude}; to give them one ${UNITS[kind]} together, write ${toName}`,
  });
}

function isComparedIn(ast: ASTNode, label: string): boolean {
  const isIt = (node: ASTNode) => lackOf(pathOf(node)) === label;
  return [...nodesOf(ast)].some((node) => (node.op === '==' || node.op === '!=') && node.args.some(isIt));
}

/** Returns in words what a key may lack: the label of `key.labels.team`, a team or a user. `lackOf` returns null for any other path. */
function lackOf(path: readonly string[] | null): string | null {
  const [owner, field, label] = path ?? [];
  if (owner === 'team' || owner === 'user') return `a ${owner}`;
  return owner === 'key' && field === 'labels' && path?.length === 3 ? `the label \`${label}\`` : null;
}

function demandOf(demand: string, match: Program | null): string {
  if (!match) return `write \`match: ${demand}\``;
  const isLoose = match.ast.op === '||' || match.ast.op === '?:';
  return `${isLoose ? 'put `match` in brackets and ' : ''}add \`&& ${demand}\` to ${isLoose ? 'it' : '`match`'}`;
}
