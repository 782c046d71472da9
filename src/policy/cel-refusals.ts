import { type ASTNode, literalOf, nodesOf, pathOf, type TextRange } from './cel-ast.ts';

/** A part of an expression that is valid CEL but not part of the policy language. */
export interface CelRefusal {
  readonly at: TextRange;
  readonly message: string;
  readonly hint?: string;
}

/** Maps whose missing keys read as the empty text. */
const LABELS: readonly string[] = ['key.labels', 'request.metadata'];
const ALWAYS_TRUE = 'what is missing reads as the empty text, so it would always be true';

/** All parts of an expression that the policy language excludes, with an alternative. */
export function findRefused(ast: ASTNode): CelRefusal[] {
  return [...nodesOf(ast)].map(refusedAt).filter((found) => found !== null);
}

function refusedAt(node: ASTNode): CelRefusal | null {
  if (node.op === 'rcall' && node.args[0] === 'matches') {
    return {
      at: { start: node.args[1].end + 1, end: node.end },
      message: '`matches` is refused: a pattern can take minutes over a text that a caller chose',
      hint: '`startsWith`, `endsWith`, `contains`, or `in [...]`',
    };
  }
  if (node.op === 'call' && node.args[0] === 'has') {
    const path = pathOf(node.args[1][0] ?? node)?.join('.') ?? '…';
    return { at: node, message: `\`has\` is refused: ${ALWAYS_TRUE}`, hint: `write \`${path} != ""\`` };
  }
  if (node.op === 'call' && node.args[0] === 'dyn') {
    return { at: node, message: '`dyn` is refused: it hides types from the check' };
  }
  return node.op === 'in' ? refusedMembership(node, node.args) : null;
}

function refusedMembership(at: ASTNode, [name, map]: readonly [ASTNode, ASTNode]): CelRefusal | null {
  const path = pathOf(map)?.join('.') ?? '';
  if (!LABELS.includes(path)) return null;
  const label = literalOf(name);
  const hint = `write \`${path}[${JSON.stringify(typeof label === 'string' ? label : '…')}] != ""\``;
  return { at, message: `\`in ${path}\` is refused: ${ALWAYS_TRUE}`, hint };
}
