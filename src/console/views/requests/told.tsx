import { useResource } from '../../api/resource.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Loaded } from '../../design/states.tsx';
import { Coded } from '../../design/written.tsx';
import { hrefWith, param } from '../../shell/router.ts';
import { type CostWriter, DecidedCandidates, RuleLink } from './candidates.tsx';
import { type DecisionRead, type Sentence, storyOf } from './story.ts';

interface ToldProps {
  readonly sentences: readonly Sentence[];
  /** The policy that its rules are of. */
  readonly revision: string;
  /** How many of the first ones are the answer. */
  readonly answers?: number;
}

/** A story in sentences. The first ones are the answer, and stand out. */
export function Told({ sentences, revision, answers = 1 }: ToldProps) {
  const texts = sentences.map((sentence, at) => (
    <span key={at}>
      {sentence.map((piece, place) => {
        if (typeof piece === 'string') return <Coded key={place} text={piece} />;
        if ('model' in piece) return <b key={place}>{piece.model}</b>;
        return <RuleLink key={place} rule={piece.rule} revision={revision} />;
      })}{' '}
    </span>
  ));
  return (
    <div class="requests-story stack-tight">
      <p class="requests-answer">{texts.slice(0, answers)}</p>
      {texts.slice(answers).map((text, at) => (
        <p key={at}>{text}</p>
      ))}
    </div>
  );
}

/** The request as the active policy would decide it. Its address says that it is shown. */
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
              verdict(decision.choice, today.choice),
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
            <DecidedCandidates
              {...{ cost, candidates: today.candidates, choice: today.choice, revision: today.policy_revision }}
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

function verdict(choice: string, today: string | null): Sentence {
  if (today === choice) return ['Today it would go to ', { model: choice }, ' again.'];
  if (today === null) return ['Today it would be refused.'];
  return ['Today it would go to ', { model: today }, ' instead of ', { model: choice }, '.'];
}
