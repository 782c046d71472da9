import { ParseError, type ParseResult } from '@marcbachmann/cel-js';
import { EXPRESSION_LENGTH_MAX } from '../../core/define/policy-words.ts';
import type { ExpressionDraft } from '../check/expression-drafts.ts';
import type { DiagnosticCode, SourceSpan } from '../report/diagnostics.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { placeWithin } from '../yaml/scalar-offsets.ts';
import { type ASTNode, literalOf, nodesOf, pathOf, type TextRange } from './ast.ts';
import { type CelFault, explainSyntax, explainType, TYPE_WORDS } from './explain.ts';
import { type CelKind, environmentOf, VARIABLES } from './types.ts';

type View = Readonly<Record<string, unknown>>;

/** A checked expression. `run` throws if the expression cannot be evaluated on the given values. */
export interface CheckedExpression<Value> {
  readonly ast: ASTNode;
  run(view: View): Value;
  /** Returns the location in the file of a part of the expression. */
  placeOf(node: TextRange): SourceSpan;
  readonly draft: ExpressionDraft;
  readonly kind: CelKind;
}
export type Program = CheckedExpression<boolean>;
export type TextProgram = CheckedExpression<string>;

/** Maps the path of a file to its text. */
export type FileTexts = ReadonlyMap<string, string>;

/** The type that the result of an expression must have. */
interface ResultType<Value> {
  readonly type: string;
  read(result: unknown): Value;
  /** The code of the diagnostic if the expression has another result type. */
  readonly code: DiagnosticCode;
  readonly must: string;
  readonly expected: string;
}

export const CONDITION: ResultType<boolean> = {
  type: 'bool',
  read: (result) => result === true,
  code: 'cel-not-bool',
  must: 'true or false',
  expected: 'a comparison, such as `… == "text"` or `… < 5.0`',
};

export const TEXT: ResultType<string> = {
  type: 'string',
  read: (result) => {
    // The result of an expression can be an object only if it is a claim, because the type of a claim is known only at run time.
    if (typeof result === 'object') throw new Error('the value is not a text');
    return String(result);
  },
  code: 'cel-not-text',
  must: 'a text',
  expected: 'a text, such as `key.id`, `team.id` or `key.labels.project`',
};

function hintForText(type: string | undefined, written: string, kind: CelKind): string | undefined {
  if (kind === 'claims') return 'name a claim that is a text, such as `claims.sub`';
  if (type === 'bool') return 'put a comparison into `match`, which selects the requests';
  if (written === 'key.labels') return 'name the label: `key.labels.project`';
  if (type === 'int' || type === 'double') return `convert it to a text: \`string(${written})\``;
  const other = kind === 'budget' ? 'request.model' : 'key.id';
  if (type?.startsWith('list')) return `join the texts: \`key.labels.project + "/" + ${other}\``;
  return written === 'request' ? 'name its field: `request.model`' : undefined;
}

/**
 * Checks the syntax, variables and types of an expression. `checkExpression` reports errors, and returns null if the expression has an
 * error.
 */
export function checkExpression<Value>(
  wanted: ResultType<Value>,
  draft: ExpressionDraft,
  kind: CelKind,
  texts: FileTexts,
  report: Report,
): CheckedExpression<Value> | null {
  const placeOf = ({ start, end }: TextRange) =>
    placeWithin(draft.tree, texts.get(draft.tree.place.file) ?? '', start, end);
  // The schema has already reported an expression that is too long. The parser must not run on a long text, because its recursion is as
  // deep as the text is nested.
  if (draft.text.length > EXPRESSION_LENGTH_MAX) return null;
  const refuse = (...faults: readonly CelFault[]): null => {
    for (const { code, at, message, ...details } of faults) report.add(code, placeOf(at), message, details);
    return null;
  };
  const parsed = parse(draft.text, kind);
  if ('code' in parsed) return refuse(parsed);
  const { ast } = parsed;
  const faults = [...wrongPlaces(ast, kind), ...[...nodesOf(ast)].flatMap((node) => refusedAt(node, kind) ?? [])];
  if (faults.length > 0) return refuse(...faults);
  const { valid, type, error } = parsed.check();
  if (!valid) return refuse(explainType(error, ast, kind));
  const { read, code, must, expected } = wanted;
  // The type of a claim is known only when a token is read.
  if (type === wanted.type || (kind === 'claims' && type === 'dyn'))
    return { ast, run: (view) => read(parsed(view)), placeOf, draft, kind };
  const message = `\`${draft.path}\` must be ${must}, but is ${nameOfType(type)}`;
  const hint = wanted.type === 'string' ? hintForText(type, draft.text.trim(), kind) : undefined;
  const form = kind === 'claims' && hint !== undefined ? undefined : expected;
  report.add(code, placeOf(ast), message, { expected: form, hint });
  return null;
}

function parse(text: string, kind: CelKind): ParseResult | CelFault {
  try {
    return environmentOf(kind).parse(text);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return explainSyntax(error, text, kind);
  }
}

function nameOfType(type: string | undefined): string {
  if (type === 'bool') return TYPE_WORDS.bool;
  const names: Readonly<Record<string, string>> = { ...TYPE_WORDS, list: 'list', map: 'map' };
  const name = names[type?.split('<', 1)[0] ?? ''];
  return name === undefined ? `of the type ${type}` : `a ${name}`;
}

const ELSEWHERE: Readonly<Record<CelKind, string>> = {
  when: 'Signalbox evaluates a condition once for each request, before it considers any model',
  guard: 'a guard runs before Signalbox reads the text of a request, so it sees only what the caller states',
  budget: 'a budget sees only the key, its team and user, and the `model` of a request',
  limit: 'a rate limit counts a request before its body is read, when only its key, team and user are known',
  constraint: 'Signalbox evaluates `require` once for each model when it loads the policy, before any request',
  model: 'Signalbox evaluates this expression once for each model when it loads the policy, before any request',
  claims: 'Signalbox evaluates this expression once for each token, before it reads any request',
};

function wrongPlaces(ast: ASTNode, kind: CelKind): CelFault[] {
  const here = VARIABLES[kind];
  const all: ReadonlySet<string> = new Set(Object.values(VARIABLES).flatMap((names) => Object.keys(names)));
  const seen = new Set<string>();
  return [...nodesOf(ast)].flatMap((node) => {
    if (node.op !== 'id' || here[node.args] || !all.has(node.args) || seen.has(node.args)) return [];
    const name = node.args;
    seen.add(name);
    const onlyEndpoint = kind === 'model' && name === 'endpoint';
    const message = `\`${name}\` is not available here: ${onlyEndpoint ? 'this expression sees whole models, not single endpoints' : ELSEWHERE[kind]}`;
    const expected = `one of ${listNames(Object.keys(here))}`;
    return [{ code: 'cel-wrong-place' as const, at: node, message, expected, hint: hintForPlace(kind, name) }];
  });
}

/** Returns a hint that names the key where the variable is available. */
function hintForPlace(kind: CelKind, name: string): string {
  if (name === 'claims')
    return 'claims are available only in `tokens`, where their issuer is stated; define a label from the claim there, and read it with `key.labels`';
  if (kind === 'claims') return 'a claim is `claims.NAME`';
  if (kind === 'when') return 'move this part to `require` (or `prefer`)';
  if (kind === 'guard') return 'use `when` of a constraint, which sees `guards` and all facts of the request';
  if (kind === 'budget') {
    return name === 'time'
      ? '`window` sets how long a budget counts; for a rule that depends on the hour, use `when` of a constraint'
      : '`request.model` is the name that the caller sends; to limit the models that may serve it, use `require` of a constraint';
  }
  if (kind === 'limit') return 'use a team, such as `team.name`, or a label of the key, such as `key.labels.project`';
  return kind === 'model' && name === 'endpoint'
    ? 'only constraints see single endpoints; `model.providers` lists the providers of all endpoints'
    : 'move this part to the `when` of a rule';
}

/** Maps whose missing keys read as the empty text. */
const LABELS: readonly string[] = ['key.labels', 'request.metadata', 'request.headers'];
const ALWAYS_TRUE = 'a missing value reads as the empty text, so this would always be true';

/** Finds a part of an expression that the policy language does not support, with an alternative. */
function refusedAt(node: ASTNode, kind: CelKind): CelFault | null {
  if (node.op === 'rcall' && node.args[0] === 'matches') {
    const message = '`matches` is not supported, because on some texts a pattern runs for minutes';
    const at = { start: node.args[1].end + 1, end: node.end };
    return refusal(at, message, 'use `startsWith`, `endsWith`, `contains` or `in [...]`');
  }
  // `has` is allowed on claims, because a missing claim has no default value.
  if (node.op === 'call' && node.args[0] === 'has' && kind !== 'claims') {
    const path = pathOf(node.args[1][0] ?? node)?.join('.') ?? '…';
    return refusal(node, `\`has\` is not supported: ${ALWAYS_TRUE}`, `write \`${path} != ""\``);
  }
  if (node.op === 'call' && node.args[0] === 'dyn') {
    return refusal(node, '`dyn` is not supported, because it hides types from the check');
  }
  return node.op === 'in' ? refusedMembership(node, node.args) : null;
}

function refusedMembership(at: ASTNode, [name, map]: readonly [ASTNode, ASTNode]): CelFault | null {
  const path = pathOf(map)?.join('.') ?? '';
  if (!LABELS.includes(path)) return null;
  const label = literalOf(name);
  const hint = `write \`${path}[${JSON.stringify(typeof label === 'string' ? label : '…')}] != ""\``;
  return refusal(at, `\`in ${path}\` is not supported: ${ALWAYS_TRUE}`, hint);
}

function refusal(at: TextRange, message: string, hint?: string): CelFault {
  return { code: 'cel-refused', at, message, hint };
}
