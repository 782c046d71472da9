import type { RuleScope } from '../core/policy/rules.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { UNREAD_TASK } from '../core/request/facts.ts';
import { type ASTNode, accessesOf } from './cel/ast.ts';

/** Fields of a request that are known without reading the text of its prompt. */
const WITHOUT_INTENT: ReadonlySet<string> = new Set<keyof RuleScope['request']>([
  ...(['operation', 'model', 'input_tokens', 'max_tokens', 'stream', 'tools', 'images', 'needs'] as const),
  ...(['budget_limit', 'user', 'metadata'] as const),
]);

/** Whether a condition reads facts that come from the text of the prompt. An access without a fixed field name may read any field. */
export function readsIntent(when: ASTNode): boolean {
  for (const { path } of accessesOf(when)) {
    if (path[0] === 'request' && (path[1] === undefined || !WITHOUT_INTENT.has(path[1]))) return true;
  }
  return false;
}

/**
 * Whether anything other than conditions depends on the text of the prompt when the caller names the model. Ceilings and token limits
 * depend on the text of the prompt, because they use the expected output.
 */
export const dependsOnIntent = ({
  constraints,
  rateLimits,
  taskIndex,
}: Pick<PolicySnapshot, 'constraints' | 'rateLimits' | 'taskIndex'>): boolean =>
  constraints.some(({ maxLatencyMs, maxCostCredits }) => maxLatencyMs !== null || maxCostCredits !== null) ||
  rateLimits.some(({ figures }) => figures.tokensPerMinute !== null) ||
  // A policy may have a task with the reserved name `unread`, which must not be confused with a prompt that was not read.
  taskIndex.has(UNREAD_TASK);
