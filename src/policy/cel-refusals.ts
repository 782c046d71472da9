import { type ASTNode, literalOf, nodesOf, pathOf, type TextRange } from './cel-ast.ts';
import type { CelFault } from './cel-explain.ts';

/** Maps whose missing keys read as the empty text. */
const LABELS: readonly string[] = ['key.labels', 'request.metadata'];
const ALWAYS_TRUE = 'a missing value reads as the empty text, so this would always be true';

/** All parts of an expression that the policy language excludes, with an alternative. */
export function findRefused(ast: ASTNode): CelFault[] {
  return [...nodesOf(ast)].map(refusedAt).filter((found) => found !== null);
}

function refusedAt(node: ASTNode): CelFault | null {
  if (node.op === 'rcall' && node.args[0] === 'matches') {
    const message = '`matches` is not supported: on some texts a pattern runs for minutes';
    const at = { start: node.args[1].end + 1, end: node.end };
    return refusal(at, message, 'use `startsWith`, `endsWith`, `contains` or `in [...]`');
  }
  if (node.op === 'call' && node.args[0] === 'has') {
    const path = pathOf(node.args[1][0] ?? node)?.join('.') ?? '…';
    return refusal(node, `\`has\` is not supported: ${ALWAYS_TRUE}`, `write \`${path} != ""\``);
  }
  if (node.op === 'call' && node.args[0] === 'dyn') {
    return refusal(node, '`dyn` is not supported: it hides types from the check');
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
