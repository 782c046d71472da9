import { useResource } from '../../api/resource.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Loaded } from '../../design/states.tsx';
import { Coded } from '../../design/written.tsx';
import { hrefWith, param } from '../../shell/router.ts';
import { DecidedCandidates, RuleLink } from './candidates.tsx';
import { type DecisionRead, partText, type Sentence, sentencesAbout } from './decision-read.ts';

interface ToldProps {
  readonly sentences: readonly Sentence[];
  /** The revision that contains the rules; null for the active policy. */
  readonly revision: string | null;
}

/** Sentences of the server, with its links and with amounts as this page writes them. */
export const Sentences = ({ sentences, revision }: ToldProps) => (
  <>
    {sentences.map(({ parts }, at) => (
      <p key={at}>
        <Parts {...{ parts, revision }} />
      </p>
    ))}
  </>
);

const Parts = ({ parts, revision }: Pick<Sentence, 'parts'> & Pick<ToldProps, 'revision'>) => (
  <>
    {parts.map((part, at) => {
      if (part.kind === 'model') return <b key={at}>{part.text}</b>;
      if (part.kind === 'rule') return <RuleLink key={at} rule={part} revision={revision} />;
      if (part.kind !== 'decision') return <Coded key={at} text={partText(part)} />;
      return (
        <a key={at} href={hrefWith({ again: null }, `/requests/${part.text}`)}>
          {part.text}
        </a>
      );
    })}
  </>
);

/** The sentences that a reader needs first, and those that explain them. All others are details. */
const [ANSWER, REASONS] = [
  ['outcome', 'refusal', 'choice'],
  ['rejections', 'preferences', 'runner_up', 'baseline'],
] as const;
/** Headings and notices of the page show the sentences about the candidates, the money and the repetition. */
const SHOWN: readonly Sentence['about'][] = [...ANSWER, ...REASONS, 'candidates', 'money', 'replay'];

/** A decision in the sentences of the server: the answer is emphasised, and details can be opened. */
export const Told = ({ sentences, revision }: ToldProps) => {
  const details = sentences.filter(({ about }) => !SHOWN.includes(about));
  return (
    <div class="requests-story stack-tight">
      <p class="requests-answer">
        {sentencesAbout(sentences, ...ANSWER).map(({ parts }, at) => (
          <span key={at}>
            <Parts {...{ parts, revision }} />{' '}
          </span>
        ))}
      </p>
      <Sentences sentences={sentencesAbout(sentences, ...REASONS)} revision={revision} />
      {details.length > 0 && (
        <details class="requests-more">
          <summary>Details of the decision</summary>
          <Sentences sentences={details} revision={revision} />
        </details>
      )}
    </div>
  );
};

/** Shows how the active policy would decide the request now. The address contains whether the section is open. */
export function Again({ decision }: { readonly decision: DecisionRead }) {
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
      {({ sentences, candidates, choice, policy_revision: revision }) => (
        <div class="stack-tight">
          <Told {...{ sentences, revision }} />
          <p class="small dim">
            {revision === decision.policy_revision
              ? 'The policy is the same. Health and speed are today’s values.'
              : `Revision ${revision} makes this decision. Revision ${decision.policy_revision} made the original decision.`}{' '}
            A record does not contain the text of the request, so rules about its text are not applied.
          </p>
          {candidates && <DecidedCandidates {...{ candidates, choice, revision, sentences }} isToday />}
          <div class="row">
            <ButtonLink href={hrefWith({ again: null })}>Hide</ButtonLink>
          </div>
        </div>
      )}
    </Loaded>
  );
}
