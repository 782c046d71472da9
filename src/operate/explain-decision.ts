import { isOperator, roleOf } from '../core/caller.ts';
import { type Explanation, type ExplanationView, explain, FULL_VIEW } from '../request/explain.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/**
 * Explains a decision, as far as a principal may see it.
 * @param id `dec_…`
 * @throws SignalboxError `not_found`, also for a decision of others; `internal_error` for an edited row
 */
export async function explainDecision(
  by: Principal,
  records: Parameters<typeof explain>[0],
  id: string,
): Promise<Explanation> {
  return await explain(records, id, viewOf(by));
}

/** Operators see all, a key its own, and reports the records of all. */
function viewOf({ caller }: Principal): ExplanationView {
  const reach = checkAction(caller, 'decisions.explain');
  if (isOperator(caller)) return FULL_VIEW;
  const isReport = roleOf(caller) === 'report';
  return { keyId: reach === 'all' ? null : caller.keyId, replays: !isReport, namesVariables: false };
}
