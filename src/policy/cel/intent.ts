import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { UNREAD_TASK } from '../../core/request/facts.ts';
import { REQUEST_FACT_ROWS } from '../../core/tables/facts/request.ts';
import { type ASTNode, accessesOf } from './ast.ts';

/** Facts of a request that are known without reading the text of its prompt. */
const STATED: ReadonlySet<string> = new Set(
  REQUEST_FACT_ROWS.flatMap(([name, { isStated }]) => (isStated ? name : [])),
);

/** Whether a condition reads facts that come from the text of the prompt. An access without a fixed field name may read any field. */
export function readsIntent(when: ASTNode): boolean {
  for (const { path } of accessesOf(when)) {
    if (path[0] === 'request' && (path[1] === undefined || !STATED.has(path[1]))) return true;
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
