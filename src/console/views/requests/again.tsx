import { useResource } from '../../api/resource.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Loaded } from '../../design/states.tsx';
import { hrefWith, param } from '../../shell/router.ts';
import { Candidates } from './candidates.tsx';
import type { CostWriter } from './costs.ts';
import { type DecisionRead, type Sentence, storyOf } from './story.ts';
import { Told } from './told.tsx';

/** The request as the policy in force would decide it. Its address says that it is shown. */
export function Again({ decision, cost }: { readonly decision: DecisionRead; readonly cost: CostWriter }) {
  const isWanted = param('again') !== '';
  const repeat = useResource(`/admin/decisions/${decision.id}/repeat`, {}, { isWanted });
  if (!isWanted) {
    return (
      <div class="row">
        <ButtonLink href={hrefWith({ again: '1' })}>Decide again on today’s policy</ButtonLink>
        <span class="small dim">It costs nothing and leaves no record.</span>
      </div>
    );
  }
  return (
    <Loaded what="The decision of today" of={repeat}>
      {(today) => (
        <div class="stack-tight">
          <Told
            revision={today.policy_revision}
            sentences={[
              verdict(decision, today.choice),
              ...storyOf({ ...today, facts: decision.facts }, (credits) => cost(credits).short),
            ]}
          />
          <p class="small dim">
            {today.policy_revision === decision.policy_revision
              ? 'The policy is the same; health, speed and learned qualities are those of now.'
              : `By revision ${today.policy_revision}; it was decided by ${decision.policy_revision}.`}{' '}
            A record keeps no words of the question, so they do not count.
          </p>
          {today.candidates && (
            <Candidates
              candidates={today.candidates}
              choice={today.choice}
              cost={cost}
              revision={today.policy_revision}
              isToday
            />
          )}
          <div class="row">
            <ButtonLink href={hrefWith({ again: null })}>Hide</ButtonLink>
          </div>
        </div>
      )}
    </Loaded>
  );
}

function verdict({ choice }: DecisionRead, today: string | null): Sentence {
  if (today === choice) return ['Today it would go to ', { model: choice }, ' again.'];
  if (today === null) return ['Today it would be refused.'];
  return ['Today it would go to ', { model: today }, ' instead of ', { model: choice }, '.'];
}
