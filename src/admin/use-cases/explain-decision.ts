import { isOperator, roleOf } from '../../core/people/caller.ts';
import { explain } from '../../gateway/request/explain.ts';
import type { Explanation } from '../../gateway/request/recorded-certificate.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { FULL_SIGHT } from './sight.ts';

/**
 * Explains a decision, as far as a principal may see it.
 * @param id `dec_…`
 * @throws SignalboxError `not_found`, also for a decision of another person; `internal_error` if the stored row was edited
 */
export async function explainDecision(
  { caller }: Principal,
  records: Parameters<typeof explain>[0],
  id: string,
  sight = FULL_SIGHT,
): Promise<Explanation> {
  const keyIds = await sight.idsWithin(checkAction(caller, 'decisions.explain'));
  const explanation = await explain(records, id, {
    keyIds,
    namesVariables: isOperator(caller),
    replays: roleOf(caller) !== 'report',
  });
  await sight.learn([explanation.record.keyId]);
  return explanation;
}
