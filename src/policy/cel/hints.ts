import { modelTest } from '../check/key-remedies.ts';
import { alternativesIn } from '../yaml/slip-hints.ts';
import { type ASTNode, literalOf, nodesOf } from './ast.ts';
import { ADDRESS_OF_USER, USER_IN_BUDGETS } from './fields.ts';
import { type CelKind, FIELDS, VARIABLES } from './types.ts';

/** Fields that users usually mean when they compare a whole object with a text, the most likely first. */
const MEANT_FIELDS = ['name', 'id', 'provider', 'model'];

/** Returns a hint for an object that is used as a text, such as `team == "legal"`; undefined for any other node. */
export function objectHint(node: ASTNode | undefined, kind: CelKind): string | undefined {
  for (const operand of operandsIn(node)) {
    if (operand.op !== 'id') continue;
    const type = VARIABLES[kind][operand.args];
    const field = type && MEANT_FIELDS.find((one) => Object.hasOwn(FIELDS[type], one));
    if (node === undefined || field === undefined) continue;
    if (type === 'BudgetUser') return USER_IN_BUDGETS;
    if (type === 'User' && [...nodesOf(node)].some((one) => String(literalOf(one)).includes('@')))
      return ADDRESS_OF_USER;
    // The right side of `in` is a list, and the field of the object is a text.
    if (node.op === 'in' && operand === node.args[1]) return undefined;
    const before = node.input.slice(node.start, operand.start);
    const after = node.input.slice(operand.end, node.end);
    const name = operand.args;
    return `\`${name}\` is an object: write \`${before}${name}.${field}${after}\``;
  }
  return undefined;
}

/** Returns the sides of a comparison with a literal, or the object whose method is called. */
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
 * Returns a hint for several texts that are meant to be compared with one field, such as `request.task == "a" or "b"`; undefined for an
 * expression without such texts.
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
