import type { TypeError as CelTypeError, ParseError } from '@marcbachmann/cel-js';
import { didYouMean } from '../../core/text/text.ts';
import { answerTo, type Courtesy } from '../report/courtesy.ts';
import type { DiagnosticCode, DiagnosticDetails } from '../report/diagnostics.ts';
import { listNames, nearestHint } from '../report/nearest.ts';
import { type ASTNode, isWhole, nodesOf, pathOf, type TextRange } from './ast.ts';
import { ALIASES, FIELD_COURTESIES } from './fields.ts';
import { listHint, objectHint } from './hints.ts';
import { type CelKind, FIELDS, isTypeName, type TypeName, VARIABLES } from './types.ts';

/** An error in an expression, with its offsets. */
export interface CelFault extends DiagnosticDetails {
  readonly code: DiagnosticCode;
  readonly at: TextRange;
  readonly message: string;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!(…)'],
  ['=', '=='],
  ['&', '&&'],
  ['|', '||'],
]);

/** Explains a syntax error. */
export function explainSyntax({ range, summary }: ParseError, text: string, kind: CelKind): CelFault {
  const start = Math.min(range?.start ?? 0, text.length);
  const at = { start, end: Math.max(start, range?.end ?? start) };
  const [, limit = '', most = ''] = /^Exceeded (\w+) \((\d+)\)/.exec(summary) ?? [];
  if (limit) {
    const what = limit === 'maxDepth' ? `is nested deeper than ${most} levels` : `has more parts than ${most}`;
    const hint = 'split the rule, or compare with a list: `x in ["a", "b"]`';
    return { code: 'cel-too-large', at, message: `the expression ${what}`, hint };
  }
  const end = text.trimEnd().length;
  if (start >= end) {
    const message = end === 0 ? 'the expression is empty' : 'the expression ends too early';
    return { code: 'cel-syntax', at: { start: Math.max(0, end - 1), end }, message };
  }
  const negation = /\bnot\s+$/.exec(text.slice(0, start));
  if (negation) return notCel('not', negation.index);
  const word = /^(?:\w+|[^\w\s])/.exec(text.slice(start))?.[0] ?? '';
  const list = /^(?:or|,|\|)$/i.test(word) ? listHint(text, kind) : undefined;
  if (WORDS.has(word.toLowerCase())) return notCel(word, start, list);
  const message = `the expression is not valid CEL: ${summary.charAt(0).toLowerCase()}${summary.slice(1)}`;
  return {
    code: 'cel-syntax',
    at,
    message,
    hint: list,
  };
}

/**
 * Explains a word that is an operator in other languages and that CEL writes as a sign. @param list the hint to use a list instead of the
 * sign
 */
function notCel(word: string, start: number, list?: string): CelFault {
  const at = { start, end: start + word.length };
  const message = `\`${word}\` is not an operator of CEL`;
  return { code: 'cel-syntax', at, message, hint: list ?? `write \`${WORDS.get(word.toLowerCase())}\`` };
}

/** Explains a type error. */
export function explainType(error: Error | undefined, ast: ASTNode, kind: CelKind): CelFault {
  const { code, range, summary, node } = readError(error);
  const at = range ?? ast;
  const found = [...nodesOf(ast)].find((one) => one === node);
  if (code === 'unknown_variable') return unknownName(summary.split(': ').at(-1) ?? '', at, kind, ast);
  if (code === 'no_such_key' && found) return unknownField(found, at, kind);
  if (code === 'no_matching_overload') return unknownFunction(summary, found, at, kind);
  return clash(summary, found, at, kind);
}

function readError(error: Error | undefined): Pick<CelTypeError, 'code' | 'range' | 'summary' | 'node'> {
  const { code, range, summary, node } = (error ?? {}) as Partial<CelTypeError>;
  return { code: code ?? '', range, summary: summary ?? error?.message ?? '', node };
}

/** A name that is not a variable. */
interface UnknownName {
  readonly name: string;
  readonly kind: CelKind;
  readonly ast: ASTNode;
}

const when = (condition: string): string =>
  `constraints: [{ name: c, when: '${condition}', require: model.id == "tiny" }]`;

/** Names that are no variables, the most certain mistake first. */
export const NAME_COURTESIES: readonly Courtesy<UnknownName>[] = [
  {
    mistake: when('task == "coding"'),
    answer({ name, kind }) {
      const owner = Object.entries(VARIABLES[kind]).find(([, type]) => Object.hasOwn(FIELDS[type], name));
      return owner && didYouMean(`${owner[0]}.${name}`);
    },
  },
  {
    mistake: when('task_type == "coding"'),
    answer({ name, kind }) {
      const alias = kind === 'when' ? ALIASES.get(name) : undefined;
      return alias && didYouMean(`request.${alias}`);
    },
  },
  { mistake: when('reqest.task == "coding"'), answer: ({ name, kind }) => nearestHint(name, variablesOf(kind)) },
  {
    mistake: when('department == "legal"'),
    answer: (unknown) =>
      unknown.kind === 'when' && isText(unknown) && isLeftOperand(unknown.name, unknown.ast)
        ? `${quoted(unknown)}; to read a label of the key, write \`key.labels.${unknown.name}\``
        : undefined,
  },
  { mistake: when('request.task == coding'), answer: (unknown) => (isText(unknown) ? quoted(unknown) : undefined) },
];

const variablesOf = (kind: CelKind): string[] => Object.keys(VARIABLES[kind]);
const quoted = ({ name }: UnknownName): string => `a text needs quotes: "${name}"`;

/** Whether a name may be a text that lacks quotes. */
const isText = ({ name, kind, ast }: UnknownName): boolean =>
  kind !== 'budget' && kind !== 'limit' && kind !== 'guard' && !isOwner(name, ast);

function unknownName(name: string, at: TextRange, kind: CelKind, ast: ASTNode): CelFault {
  const hint = answerTo(NAME_COURTESIES, { name, kind, ast });
  const expected = `one of ${listNames(variablesOf(kind))}`;
  return { code: 'cel-unknown-name', at, message: `\`${name}\` is not defined here`, expected, hint };
}

/** Whether an expression reads a field of a name. If an expression reads a field of a name, the name is not a text that lacks quotes. */
const isOwner = (name: string, ast: ASTNode): boolean =>
  [...nodesOf(ast)].some((node) => node.op === '.' && node.args[0].op === 'id' && node.args[0].args === name);

/** Whether a single name is the left side of a comparison, and so is probably not a text that lacks quotes. */
const isLeftOperand = (name: string, ast: ASTNode): boolean =>
  [...nodesOf(ast)].some((node) => {
    if (node.op !== '==' && node.op !== '!=' && node.op !== 'in') return false;
    const [left] = node.args;
    return left.op === 'id' && left.args === name;
  });

function unknownField(node: ASTNode, at: TextRange, kind: CelKind): CelFault {
  const path = pathOf(node) ?? [];
  const field = path.at(-1) ?? '';
  const owner = path.slice(0, -1);
  const type = typeOf(owner, kind);
  const known = type ? Object.keys(FIELDS[type]) : [];
  const message = `\`${owner.join('.')}\` has no field \`${field}\``;
  const hint = answerTo(FIELD_COURTESIES, { field, owner: owner.join('.'), type, kind, known });
  return { code: 'cel-unknown-field', at, message, expected: `one of ${listNames(known)}`, hint };
}

/** Returns the declared type of an access; null if the access has no declared type. */
function typeOf(path: readonly string[], kind: CelKind): TypeName | null {
  const [variable = '', ...fields] = path;
  let type: TypeName | null = VARIABLES[kind][variable] ?? null;
  for (const field of fields) {
    const known: Readonly<Record<string, readonly [string, string]>> = type ? FIELDS[type] : {};
    const next: string = known[field]?.[0] ?? '';
    type = isTypeName(next) ? next : null;
  }
  return type;
}

const FUNCTIONS = 'contains startsWith endsWith size lowerAscii upperAscii trim indexOf split'.split(' ');
const GLOBALS = ['size', 'int', 'double', 'string', 'bool', 'type'];
const MACROS = ['exists', 'all', 'exists_one', 'filter', 'map'];

function unknownFunction(summary: string, node: ASTNode | undefined, at: TextRange, kind: CelKind): CelFault {
  const call = /'(.+)'/.exec(summary)?.[1] ?? '';
  const isMethod = node?.op === 'rcall';
  const name = node?.op === 'rcall' || node?.op === 'call' ? node.args[0] : call;
  const known = isMethod ? [...FUNCTIONS, ...MACROS] : GLOBALS;
  const range = node?.op === 'rcall' ? { start: node.args[1].end + 1, end: node.end } : at;
  if (known.includes(name)) {
    const message = `\`${name}\` does not accept these types: ${plainTypes(call)}`;
    return { code: 'cel-type', at: range, message, hint: objectHint(node, kind) };
  }
  const expected = `one of ${listNames(known)}`;
  const message = `there is no function \`${name}\``;
  return { code: 'cel-unknown-name', at: range, message, expected, hint: nearestHint(name, known) };
}

/** CEL types in everyday words. */
export const TYPE_WORDS = { string: 'text', double: 'number', int: 'whole number', bool: 'true or false' } as const;

const plainTypes = (text: string): string =>
  Object.entries(TYPE_WORDS).reduce(
    (plain, [type, word]) => plain.replaceAll(new RegExp(`\\b${type}\\b`, 'g'), word),
    // The types of budgets have internal names of their own.
    text.replaceAll(/\bBudget(?=[A-Z])/g, ''),
  );

/** Explains types that do not match. The usual mismatch is an integer literal and a double. */
function clash(summary: string, node: ASTNode | undefined, at: TextRange, kind: CelKind): CelFault {
  const whole = wholeAgainstFigure(summary, node);
  if (whole) {
    const written = whole.input.slice(whole.start, whole.end);
    const message = 'CEL does not mix whole numbers and decimal numbers';
    const expected = 'a number with a decimal point';
    return { code: 'cel-type', at: whole, message, expected, hint: `write \`${written}.0\`` };
  }
  const message = `the types do not match: ${plainTypes(summary.replace(/^no such overload: /, ''))}`;
  return {
    code: 'cel-type',
    at,
    message,
    hint: answerTo(OPERAND_COURTESIES, { summary, node, kind }),
  };
}

/** An operation with types that do not match. */
interface WrongOperands {
  /** The message of the CEL library. */
  readonly summary: string;
  readonly node: ASTNode | undefined;
  readonly kind: CelKind;
}

/** Operands of a wrong type. */
export const OPERAND_COURTESIES: readonly Courtesy<WrongOperands>[] = [
  { mistake: when('team == "legal"'), answer: ({ node, kind }) => objectHint(node, kind) },
  {
    mistake: when('request.task == "coding" || "chat"'),
    answer: ({ summary, node, kind }) =>
      node && /^Logical operator requires/.test(summary) ? listHint(node.input, kind) : undefined,
  },
];

/** Returns the integer literal in an operation with a double; undefined for any other error. */
function wholeAgainstFigure(summary: string, node: ASTNode | undefined): ASTNode | undefined {
  if (!node) return undefined;
  if (/expected type 'double' but found 'int'/.test(summary)) return isWhole(node) ? node : undefined;
  if (!/double \S+ (?:int|list<int>)$|(?:int|list<int>) \S+ double$/.test(summary) || summary.includes(' % '))
    return undefined;
  return [...nodesOf(node)].find((one) => isWhole(one));
}
