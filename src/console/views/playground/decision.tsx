import { Button } from '../../design/button.tsx';
import { Explained } from '../../design/explained.tsx';
import { figure, plural } from '../../design/format.ts';
import { Failure, Partial, Skeleton } from '../../design/states.tsx';
import { bothText, Coded } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { Candidates, RulePlace } from '../requests/candidates.tsx';
import { type Candidate, plainText, sentencesAbout } from '../requests/decision-read.ts';
import { Sentences } from '../requests/told.tsx';
import type { ExplainedRequest, RequestExplanation } from './explanation.ts';

interface DecisionCardProps {
  readonly explained: ExplainedRequest;
  readonly hasText: boolean;
  /** Whether the current text is a valid request. If the current text is not valid, the decision belongs to the last valid text. */
  readonly isReadable: boolean;
}

/** The decision that the request would get now: a chart, the Credits that would be held, and every model with its reason. */
export function DecisionCard({ explained, hasText, isReadable }: DecisionCardProps) {
  const { explanation, failure, retry } = explained;
  if (!explanation) {
    return (
      <section class="card playground-decision" aria-label="Decision">
        {failure ? <Failure what="The decision" failure={failure} onRetry={retry} /> : <Skeleton rows={8} />}
      </section>
    );
  }
  return (
    <section class="card playground-decision" aria-label="Decision">
      {failure ? (
        <div class="notice" role="status">
          <span>
            This decision is for an earlier request, because the latest failed: <Coded text={failure.message} />
          </span>
          <Button onClick={retry}>Try again</Button>
        </div>
      ) : (
        <p class="small dim" role="status">
          {!isReadable
            ? 'This decision is for your last valid request. The current text is not valid yet.'
            : hasText
              ? 'The active policy would decide this now. Nothing is sent.'
              : 'This decision is for an ordinary request until you write your own. Nothing is sent.'}
        </p>
      )}
      <Candidates
        heading={headingOf(explanation)}
        label="Candidates"
        candidates={explanation.candidates ?? []}
        choice={explanation.choice}
        columns={({ quality, price, time }) => [
          {
            id: 'model',
            head: 'Model',
            sort: ({ model }) => model,
            cell: ({ model }) => <span class="table-name">{model}</span>,
          },
          quality,
          price,
          time,
          { id: 'place', head: 'Rank', phone: 'second', cell: placeOf, sort: ({ rank }) => rank },
        ]}
      >
        <Notices explanation={explanation} />
        <Figures explanation={explanation} />
      </Candidates>
      <details class="playground-story">
        <summary>The decision in sentences</summary>
        <Sentences sentences={explanation.sentences} revision={null} />
      </details>
    </section>
  );
}

const chosenOf = ({ candidates, choice }: RequestExplanation) => candidates?.find(({ model }) => model === choice);

/** The answer: which model would answer, or why the request would be refused. */
const headingOf = ({ sentences }: RequestExplanation): string =>
  plainText(sentencesAbout(sentences, 'outcome')) || plainText(sentencesAbout(sentences, 'refusal')) || 'Decision';

const Listed = ({ summary, lines }: { readonly summary: string; readonly lines: readonly string[] }) => (
  <details>
    <summary>{summary}</summary>
    <ul class="playground-story">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  </details>
);

const Notices = ({
  explanation: { sentences, left_out_here: leftOut },
}: {
  readonly explanation: RequestExplanation;
}) => {
  const [reasons, warnings] = [sentencesAbout(sentences, 'choice', 'task'), sentencesAbout(sentences, 'warning')];
  return (
    <>
      <Sentences sentences={reasons} revision={null} />
      {warnings.length > 0 && <Partial>{plainText(warnings)}</Partial>}
      {leftOut.length > 0 && (
        <div class="small dim">
          <Listed
            summary={`${plural(leftOut.length, 'provider')} ${leftOut.length === 1 ? 'is' : 'are'} not available on this server`}
            lines={leftOut}
          />
        </div>
      )}
    </>
  );
};

const Figures = ({ explanation }: { readonly explanation: RequestExplanation }) => (
  <Facts
    of={explanation}
    facts={[
      ['Reason', ({ refusal, route_reason }) => <span class="mono">{refusal?.code ?? route_reason}</span>],
      ['Task', taskText],
      [
        <Explained key="held" term="held">
          Held first
        </Explained>,
        holdText,
      ],
      [
        'Worst case',
        (of) => {
          const chosen = chosenOf(of);
          return chosen && `${bothText(worstCaseOf(chosen))} for the chosen model`;
        },
      ],
      [
        'Speeds',
        ({ readings }) => (readings === 'present' ? 'as this server measures them now' : 'as the policy declares them'),
      ],
    ]}
  />
);

function taskText(explanation: RequestExplanation): string {
  const { facts, expected_output_tokens: out } = explanation;
  const chosen = chosenOf(explanation);
  if (!chosen) return facts.task;
  return `${facts.task}, about ${figure(chosen.input_tokens).short} tokens in and ${figure(out).short} out`;
}

const worstCaseOf = ({ worst_case_credits: credits, worst_case_usd: usd }: Candidate) => ({ credits, usd });

function holdText(explanation: RequestExplanation): string {
  const { first_hold_credits: first, first_hold_usd: usd, is_funded } = explanation;
  const most = chosenOf(explanation)?.worst_case_credits;
  if (most === undefined) return '';
  const unfunded = is_funded ? '' : '; the budgets and balance of a key are not considered';
  if (first === null) return `nothing${unfunded}`;
  const more = first < most ? ', and more in tranches as the answer grows' : '';
  const enough = first > most ? ', enough for a fallback, too' : '';
  return bothText({ credits: first, usd }) + more + enough + unfunded;
}

/** The rank, or the reasons why the model has no rank, with the policy lines that caused them. */
function placeOf({ rank, rejections }: Candidate) {
  if (rank !== null) return <span class="nowrap">{rank === 1 ? '1, chosen' : rank}</span>;
  return (
    <span class="dim">
      {rejections.map(({ text, rules }, at) => (
        <span key={text}>
          {at > 0 && '; '}
          <Coded text={text} />
          {rules.map((rule) => (
            <span key={rule.name}>
              {' '}
              <RulePlace rule={rule} revision={null} />
            </span>
          ))}
        </span>
      ))}
    </span>
  );
}
