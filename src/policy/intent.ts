import { UNREAD_TASK } from '../core/facts.ts';
import type { RuleScope } from '../core/rules.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { type ASTNode, accessesOf } from './cel-ast.ts';

/** Fields of a request that are known without reading what its prompt asks for. */
const WITHOUT_INTENT: ReadonlySet<string> = new Set<keyof RuleScope['request']>([
  ...(['operation', 'model', 'input_tokens', 'max_tokens', 'stream', 'tools', 'images', 'needs'] as const),
  ...(['budget_limit', 'user', 'metadata'] as const),
]);

/** Whether a condition reads what a prompt asks for. An access that names no field may read any. */
export function readsIntent(when: ASTNode): boolean {
  for (const { path } of accessesOf(when)) {
    if (path[0] === 'request' && (path[1] === undefined || !WITHOUT_INTENT.has(path[1]))) return true;
  }
  return false;
}

/**
 * Whether anything but the conditions depends on what a prompt asks for where the caller names the model: ceilings and
 * limits of tokens go by the expected output.
 */
export const dependsOnIntent = ({
  constraints,
  rateLimits,
  taskIndex,
}: Pick<PolicySnapshot, 'constraints' | 'rateLimits' | 'taskIndex'>): boolean =>
  constraints.some(({ maxLatencyMs, maxCostCredits }) => maxLatencyMs !== null || maxCostCredits !== null) ||
  rateLimits.some(({ figures }) => figures.tokensPerMinute !== null) ||
  // A task of the policy that has this name must not be mistaken for it.
  taskIndex.has(UNREAD_TASK);
