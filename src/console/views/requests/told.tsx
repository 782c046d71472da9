import { useResource } from '../../api/resource.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Loaded } from '../../design/states.tsx';
import { Coded } from '../../design/written.tsx';
import { hrefWith, param } from '../../shell/router.ts';
import { type CostWriter, DecidedCandidates, RuleLink } from './candidates.tsx';
import { type DecisionRead, type Sentence, storyOf } from './story.ts';

interface ToldProps {
  readonly sentences: readonly Sentence[];
  /** The revision that contains the rules. */
  readonly revision: string;
  /** How many of the first sentences are the answer. */
  readonly answers?: number;
}

/** A story in sentences. The first sentences are the answer, and are emphasised. */
export function Told({ sentences, revision, answers = 1 }: ToldProps) {
  const texts = sentences.map((sentence, at) => (
    <span key={at}>
      {sentence.map((piece, place) => {
        if (typeof piece === 'string') return <Coded key={place} text={piece} />;
        if ('model' in piece) return <b key={place}>{piece.model}</b>;
        if ('decision' in piece) {
          return (
            <a key={place} href={hrefWith({ again: null }, `/requests/${piece.decision}`)}>
              {piece.decision}
            </a>
          );
        }
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

/** Shows how the active policy would decide the request now. The address contains whether the section is open. */
export function Again({ decision, cost }: { readonly decision: DecisionRead; readonly cost: CostWriter }) {
  const isWanted = param('again') !== '';
  const repeat = useResource(`/admin/decisions/${decision.id}/repeat`, {}, { isWanted });
  if (!isWanted) {
    return (
      <div class="row">
        <ButtonLink href={hrefWith({ again: '1' })}>Decide again with the active policy</ButtonLink>
        <span class="small dim">It costs nothing and stores no record.</span>
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
              ? 'The policy is the same. Health and speed are today’s values.'
              : `Revision ${today.policy_revision} makes this decision. Revision ${decision.policy_revision} made the original decision.`}{' '}
            A record does not contain the text of the request, so rules about its text are not applied.
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
