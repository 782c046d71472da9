import { Button } from '../../design/button.tsx';
import { Explained } from '../../design/explained.tsx';
import { duration, figure, percent, plural, usd } from '../../design/format.ts';
import { Failure, Partial, Skeleton } from '../../design/states.tsx';
import { Coded, creditsText } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import { placeHref } from '../policies/places.ts';
import { Candidates, costWriter } from '../requests/candidates.tsx';
import type { Candidate } from '../requests/story.ts';
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
        cost={costWriter(explanation.usd_per_credit)}
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
      {explanation.explanation && <Listed summary="The decision in sentences" lines={explanation.explanation} />}
    </section>
  );
}

const chosenOf = ({ candidates, choice }: RequestExplanation) => candidates?.find(({ model }) => model === choice);

function headingOf(explanation: RequestExplanation): string {
  const { choice, refusal, shortage, usd_per_credit } = explanation;
  if (refusal) return `${refusal.message.replaceAll('`', '').replace(/\.$/, '')}.`;
  const chosen = chosenOf(explanation);
  if (!chosen) return `${choice ?? 'No model'} would answer.`;
  if (shortage) return `${chosen.model} would be chosen, but its key does not have enough Credits (${shortage}).`;
  const cost = costWriter(usd_per_credit)(chosen.cost_credits).short;
  const instead = explanation.instead_of === null ? '' : ` instead of ${explanation.instead_of.model}`;
  return `${chosen.model} would answer${instead} for about ${cost} in ${duration(chosen.latency_ms).short}, with an expected quality of ${percent(chosen.counted_quality).short}.`;
}

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

const Notices = ({ explanation }: { readonly explanation: RequestExplanation }) => {
  const { failed_rules: failed, strategy_failed, left_out_here: leftOut, task_note, instead_of } = explanation;
  return (
    <>
      {instead_of && (
        <Partial>
          The named model {instead_of.model} is left out: <Coded text={instead_of.text} />. A fallback would answer.
        </Partial>
      )}
      {failed.length > 0 && (
        <Partial>
          {failed.map(({ name }) => name).join(', ')}: the condition of the rule failed, so it counts as true.
        </Partial>
      )}
      {strategy_failed && <Partial>The strategy gave no usable scores, so quality, cost and time decided.</Partial>}
      {leftOut.length > 0 && (
        <div class="small dim">
          <Listed
            summary={`${plural(leftOut.length, 'provider')} ${leftOut.length === 1 ? 'is' : 'are'} not available on this server`}
            lines={leftOut}
          />
        </div>
      )}
      {task_note && <p class="small dim">{task_note}</p>}
    </>
  );
};

/** An amount of Credits in both units: `$0.0012 (1.2 Credits)`. */
export const bothText = (credits: number, usdPerCredit: string | null): string =>
  usdPerCredit === null
    ? creditsText(credits)
    : `${usd(credits * Number(usdPerCredit)).short} (${creditsText(credits)})`;

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
          const most = chosenOf(of)?.worst_case_credits;
          return most !== undefined && `${bothText(most, of.usd_per_credit)} for the chosen model`;
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

function holdText(explanation: RequestExplanation): string {
  const { first_hold_credits: first, is_funded, usd_per_credit } = explanation;
  const most = chosenOf(explanation)?.worst_case_credits;
  if (most === undefined) return '';
  const unfunded = is_funded ? '' : '; the budgets and balance of a key are not considered';
  if (first === null) return `nothing${unfunded}`;
  const more = first < most ? ', and more in tranches as the answer grows' : '';
  const enough = first > most ? ', enough for a fallback, too' : '';
  return bothText(first, usd_per_credit) + more + enough + unfunded;
}

/** The rank, or the reasons why the model has no rank, with the policy lines that caused them. */
function placeOf({ rank, rejections }: Candidate) {
  const seesPolicy = reachOfViewer('policy.read') !== null;
  if (rank !== null) return <span class="nowrap">{rank === 1 ? '1, chosen' : rank}</span>;
  return (
    <span class="dim">
      {rejections.map(({ text, rules }, at) => (
        <span key={text}>
          {at > 0 && '; '}
          <Coded text={text} />
          {rules.map((rule) => {
            const place = `${rule.file}:${rule.line}`;
            return <span key={place + rule.name}> {seesPolicy ? <a href={placeHref(rule)}>{place}</a> : place}</span>;
          })}
        </span>
      ))}
    </span>
  );
}
