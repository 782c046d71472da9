import { UsageError } from '../../core/usage-error.ts';
import type { LearningPolicyInForce } from '../../learning/answer.ts';
import type { Repositories } from '../../store/repositories.ts';
import { generous, type JudgeTools, runtimeOf } from '../policy/tools.ts';

/**
 * Builds the policy by which the stored outcomes are read: with every variable set, so that what was learned of a model
 * does not depend on this environment. Some models serve only where no other can; where outcomes are of those, it is the
 * policy of this environment. Throws UsageError.
 */
export async function learningPolicy(
  folder: string,
  judge: JudgeTools,
  store: Pick<Repositories, 'learning'>,
): Promise<LearningPolicyInForce> {
  const anywhere = await runtimeOf(folder, { ...judge, env: generous(judge.env) });
  const models = await store.learning.outcomes.models();
  const declared = ({ snapshot }: LearningPolicyInForce) => models.filter((id) => snapshot.modelIndex.has(id)).length;
  if (declared(anywhere) === models.length) return anywhere;
  try {
    const here = await runtimeOf(folder, judge);
    return declared(here) > declared(anywhere) ? here : anywhere;
  } catch (cause) {
    if (cause instanceof UsageError) return anywhere;
    throw cause;
  }
}
