import { ParseError, type ParseResult } from '@marcbachmann/cel-js';
import { type ASTNode, nodesOf } from './cel-ast.ts';
import { type CelFault, explainSyntax, explainType } from './cel-explain.ts';
import { findRefused, type Refused } from './cel-refused.ts';
import { environmentOf, type Sight, VARIABLES } from './cel-types.ts';
import type { Details, DiagnosticCode, Place } from './diagnostics.ts';
import { listNames } from './nearest.ts';
import type { Report } from './report.ts';
import type { ExpressionDraft } from './rule-drafts.ts';
import { placeWithin } from './scalar-offsets.ts';

/** An expression that was checked: true or false of what it sees. Throws where it cannot be evaluated. */
export interface Program {
  readonly ast: ASTNode;
  run(view: Readonly<Record<string, unknown>>): boolean;
  /** The place in the file of a part of the expression. */
  placeOf(node: { readonly start: number; readonly end: number }): Place;
  readonly draft: ExpressionDraft;
}

/** File → its text. */
export type Texts = ReadonlyMap<string, string>;

/** Checks an expression against what its key can see; null when it is wrong, and then the report says why. */
export function checkExpression(draft: ExpressionDraft, sight: Sight, texts: Texts, report: Report): Program | null {
  const placeOf = ({ start, end }: { readonly start: number; readonly end: number }) =>
    placeWithin(draft.tree, texts.get(draft.tree.place.file) ?? '', start, end);
  const add = (
    code: DiagnosticCode,
    at: { readonly start: number; readonly end: number },
    message: string,
    d: Details,
  ) => report.add(code, placeOf(at), message, d);
  const parsed = parse(draft.text, sight);
  if ('code' in parsed) {
    add(parsed.code, parsed.at, parsed.message, parsed.details);
    return null;
  }
  const { ast } = parsed;
  const faults = [...wrongPlaces(ast, sight), ...findRefused(ast).map(refusal)];
  for (const { code, at, message, details } of faults) add(code, at, message, details);
  if (faults.length > 0) return null;
  const { valid, type, error } = parsed.check();
  if (!valid) {
    const { code, at, message, details } = explainType(error, ast, sight);
    add(code, at, message, details);
    return null;
  }
  if (type !== 'bool') {
    add('cel-not-bool', ast, `\`${draft.path}\` is ${nameOfType(type)}, neither true nor false`, {
      expected: 'a comparison, such as `… == "text"` or `… < 5.0`',
    });
    return null;
  }
  return { ast, run: (view) => parsed(view) === true, placeOf, draft };
}

function parse(text: string, sight: Sight): ParseResult | CelFault {
  try {
    return environmentOf(sight).parse(text);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return explainSyntax(error, text);
  }
}

/** Whether a text is CEL at all, whatever it names. */
export function isCel(text: string): boolean {
  return !('code' in parse(text, 'when'));
}

export function nameOfType(type: string | undefined): string {
  const names: Readonly<Record<string, string>> = { string: 'a text', double: 'a number', int: 'a whole number' };
  if (type?.startsWith('list')) return 'a list';
  if (type?.startsWith('map')) return 'a map';
  return names[type ?? ''] ?? `of the type ${type}`;
}

const ELSEWHERE: Readonly<Record<Sight, string>> = {
  when: 'a condition is judged once for a request, before models are looked at',
  constraint: '`require` is judged once for each model when the policy is loaded, before there are requests',
  model: 'the filter is judged once for each model when the policy is loaded, before there are requests',
};

function wrongPlaces(ast: ASTNode, sight: Sight): CelFault[] {
  const here = VARIABLES[sight];
  const all: ReadonlySet<string> = new Set(Object.values(VARIABLES).flatMap((names) => Object.keys(names)));
  const seen = new Set<string>();
  return [...nodesOf(ast)].flatMap((node) => {
    if (node.op !== 'id' || here[node.args] || !all.has(node.args) || seen.has(node.args)) return [];
    const name = node.args;
    seen.add(name);
    const onlyEndpoint = sight === 'model' && name === 'endpoint';
    const hint = onlyEndpoint
      ? 'only constraints look at single endpoints; `model.providers` has the providers of all'
      : sight === 'when'
        ? 'move this part to `require` (or `prefer`)'
        : 'move this part to the `when` of a rule';
    const message = `\`${name}\` cannot be seen here: ${onlyEndpoint ? 'this is about models' : ELSEWHERE[sight]}`;
    const details = { expected: `one of ${listNames(Object.keys(here))}`, hint };
    return [{ code: 'cel-wrong-place' as const, at: node, message, details }];
  });
}

function refusal({ at, message, hint }: Refused): CelFault {
  return { code: 'cel-refused', at, message, details: hint === undefined ? {} : { hint } };
}
