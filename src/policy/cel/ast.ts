import type { ASTNode } from '@marcbachmann/cel-js';

export type { ASTNode } from '@marcbachmann/cel-js';

/** Offsets in the text of an expression. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Returns the value of a literal, also of `-1`; undefined for any other node. */
export function literalOf(node: ASTNode): string | number | boolean | undefined {
  if (node.op === '-_') {
    const value = literalOf(node.args);
    return typeof value === 'number' ? -value : undefined;
  }
  if (node.op !== 'value') return undefined;
  const value = node.args;
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** Whether a node is a CEL integer literal: `100`, not `100.0`. */
export function isWhole(node: ASTNode): boolean {
  return node.op === '-_' ? isWhole(node.args) : node.op === 'value' && typeof node.args === 'bigint';
}

/** Returns the names in an access: `model.price["input"]` gives model, price, input. `pathOf` returns null for any other node. */
export function pathOf(node: ASTNode): readonly string[] | null {
  if (node.op === 'id') return [node.args];
  if (node.op === '.') {
    const [owner, field] = node.args;
    const path = pathOf(owner);
    return path && [...path, field];
  }
  if (node.op === '[]') {
    const [owner, index] = node.args;
    const path = pathOf(owner);
    const field = literalOf(index);
    return path && typeof field === 'string' ? [...path, field] : null;
  }
  return null;
}

/** Iterates over a node and all nodes in it, parents first. */
export function* nodesOf(node: ASTNode): Generator<ASTNode> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}

/** Iterates over the longest accesses in an expression: `key.labels.team`, not the `key` inside it. */
export function* accessesOf(node: ASTNode): Generator<{ readonly node: ASTNode; readonly path: readonly string[] }> {
  const path = pathOf(node);
  if (path) yield { node, path };
  else for (const child of childrenOf(node)) yield* accessesOf(child);
}

function childrenOf(node: ASTNode): readonly ASTNode[] {
  const found: ASTNode[] = [];
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(collect);
    else if (isNode(value)) found.push(value);
  };
  collect(node.args);
  return found;
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
