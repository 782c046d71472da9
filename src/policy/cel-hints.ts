import { type ASTNode, accessesOf, literalOf, nodesOf } from './cel-ast.ts';
import { ADDRESS_OF_USER, USER_IN_BUDGETS } from './cel-fields.ts';
import { type CelKind, FIELDS, VARIABLES } from './cel-types.ts';
import { modelTest } from './key-remedies.ts';
import { alternativesIn } from './slip-hints.ts';

/** Fields that users mean when they compare a whole object with a text, the most probable first. */
const MEANT_FIELDS = ['name', 'id', 'provider', 'model'];

/** A hint for an object that is used as a text, such as `team == "legal"`; undefined for any other node. */
export function objectHint(node: ASTNode | undefined, kind: CelKind): string | undefined {
  for (const operand of operandsIn(node)) {
    if (operand.op !== 'id') continue;
    const type = VARIABLES[kind][operand.args];
    const field = type && MEANT_FIELDS.find((one) => Object.hasOwn(FIELDS[type], one));
    if (node === undefined || field === undefined) continue;
    if (type === 'BudgetUser') return USER_IN_BUDGETS;
    if (type === 'User' && [...nodesOf(node)].some((one) => String(literalOf(one)).includes('@')))
      return ADDRESS_OF_USER;
    if (node.op === 'in' && operand === node.args[1])
      return equalityHint(node.args[0], `${operand.args}.${field}`, kind);
    const before = node.input.slice(node.start, operand.start);
    const after = node.input.slice(operand.end, node.end);
    const name = operand.args;
    return `\`${name}\` is an object: write \`${before}${name}.${field}${after}\``;
  }
  return undefined;
}

/** A hint for a test whether a text is in another text, such as `"legal" in team.name`; undefined for any other node. */
export function textInTextHint(node: ASTNode | undefined, kind: CelKind): string | undefined {
  if (node?.op !== 'in') return undefined;
  const [left, right] = node.args;
  const [literal, text] = literalOf(left) === undefined ? [right, left] : [left, right];
  return equalityHint(literal, sourceOf(text), kind);
}

/** @param text the source of the text that the literal is compared with */
function equalityHint(literal: ASTNode, text: string, kind: CelKind): string {
  const written = sourceOf(literal);
  // The names of teams in a budget stand for IDs, which have no parts.
  const isWhole = kind === 'budget' && text === 'team.name';
  const orPart = isWhole ? '' : `, or \`${text}.contains(${written})\` for a part of the text`;
  return `\`in\` looks in a list: write \`${text} == ${written}\`${orPart}`;
}

/** The text of a node. */
export const sourceOf = ({ input, start, end }: ASTNode): string => input.slice(start, end);

/** Words of other languages for a rule that applies to every request. */
const ALWAYS: ReadonlySet<string> = new Set(['always', 'any', 'all', 'anything', 'everything', '*']);

/** A hint for a condition that is only such a word; undefined for any other text. */
export function alwaysHint(text: string, kind: CelKind): string | undefined {
  if (!ALWAYS.has(text.trim().toLowerCase()) || (kind !== 'when' && kind !== 'budget' && kind !== 'limit'))
    return undefined;
  return kind === 'when'
    ? 'leave `when` out: a rule without it applies to every request'
    : `leave \`match\` out: a ${kind === 'budget' ? 'budget' : 'rate limit'} without it covers every request`;
}

/** A hint for `input`, as Open Policy Agent calls what it decides on, such as `input.user.role`; undefined for any other name. */
export function inputHint(name: string, ast: ASTNode, kind: CelKind): string | undefined {
  if (name !== 'input') return undefined;
  const path = [...accessesOf(ast)].map((access) => access.path).find(([owner]) => owner === name);
  const [first = '', ...rest] = path?.slice(1) ?? [];
  const known = VARIABLES[kind];
  const owner = Object.keys(known).find((variable) => Object.hasOwn(FIELDS[known[variable]!], first));
  const meant = Object.hasOwn(known, first) ? first : owner && `${owner}.${first}`;
  return meant
    ? `\`input\` belongs to Open Policy Agent: write \`${[meant, ...rest].join('.')}\``
    : '`input` belongs to Open Policy Agent: name the variable itself';
}

/** The sides of a comparison with a literal, or the owner of a method call. */
function operandsIn(node: ASTNode | undefined): readonly ASTNode[] {
  if (node?.op === 'rcall') return [node.args[1]];
  if (node?.op !== '==' && node?.op !== '!=' && node?.op !== 'in') return [];
  const [left, right] = node.args;
  return [left, right].some((one) => literalOf(one) !== undefined || one.op === 'list') ? [left, right] : [];
}

const LITERAL = `(?:"[^"]*"|'[^']*')`;
const SEVERAL = new RegExp(
  `(?<![\\w.])([\\w.]+)\\s*(==|!=|\\bin\\b)\\s*\\(?\\s*(${LITERAL}(?:\\s*(?:,|\\|\\|?|\\bor\\b)\\s*(?:\\1\\s*\\2\\s*)?${LITERAL})+)`,
  'i',
);

/**
 * A hint for several texts that are meant to be compared with one field, such as `request.task == "a" or "b"`; undefined for an
 * expression without them.
 */
export function listHint(text: string, kind: CelKind): string | undefined {
  const names = kind === 'constraint' || kind === 'model' ? alternativesIn(text) : undefined;
  if (names) return `write a list: \`${modelTest(names)}\``;
  const [, field, operator, literals] = SEVERAL.exec(text) ?? [];
  if (field === undefined || literals === undefined) return undefined;
  const list = literals.match(new RegExp(LITERAL, 'g'))?.join(', ');
  const test = `${field} in [${list}]`;
  return `write a list: \`${operator === '!=' ? `!(${test})` : test}\``;
}
