import { Scatter, type ScatterPoint } from '../../charts/scatter.tsx';
import { Button } from '../../design/button.tsx';
import { Explained } from '../../design/explained.tsx';
import { duration, figure, percent, usd, type WrittenFigure } from '../../design/format.ts';
import { Failure, Partial, Skeleton } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { creditsText } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import type { ExplainedCandidate, ExplainedRequest, RequestExplanation } from './explanation.ts';

/** The decision that the request would get now: a picture, what is set aside, and every model with its reason. */
export function DecisionCard({
  explained,
  hasText,
  isReadable,
}: {
  readonly explained: ExplainedRequest;
  readonly hasText: boolean;
  /** Whether the text is a body by now; else the decision is that of the last one. */
  readonly isReadable: boolean;
}) {
  const { explanation, failure, retry } = explained;
  if (!explanation) {
    return (
      <section class="card playground-decision" aria-label="Decision">
        {failure ? <Failure what="The decision" failure={failure} onRetry={retry} /> : <Skeleton rows={8} />}
      </section>
    );
  }
  const candidates = explanation.candidates ?? [];
  return (
    <section class="card playground-decision" aria-label="Decision">
      {failure ? (
        <div class="notice" role="status">
          <span>Not of this request: {failure.message}</span>
          <Button onClick={retry}>Try again</Button>
        </div>
      ) : (
        <p class="small dim" role="status">
          {!isReadable
            ? 'Decided for the text before this one, which is no request yet.'
            : hasText
              ? 'Decided now by the policy in force, without sending anything.'
              : 'For an ordinary request, until you write one. Nothing is sent.'}
        </p>
      )}
      <Scatter
        heading={headingOf(explanation)}
        points={candidates.map((candidate) => pointOf(candidate, explanation))}
        writeCost={(cost) => costText(cost, explanation)}
        writeQuality={percent}
        writeTime={duration}
        height={280}
      />
      <Notices explanation={explanation} />
      <Figures explanation={explanation} />
      <Candidates explanation={explanation} />
      {explanation.explanation && (
        <details>
          <summary>The decision in sentences</summary>
          <ul class="playground-story">
            {explanation.explanation.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** Models of the table before it is asked for all. */
const ROWS_SHOWN = 12;

const usdOf = (credits: number, { usd_per_credit }: RequestExplanation): number => credits * Number(usd_per_credit);

/** A cost in USD as the picture has it, with its Credits. */
const costText = (cost: number | null, { usd_per_credit }: RequestExplanation): WrittenFigure =>
  cost === null
    ? usd(null)
    : { ...usd(cost), exact: `${usd(cost).exact} · ${creditsText(cost / Number(usd_per_credit))}` };

function headingOf(explanation: RequestExplanation): string {
  const { choice, refusal, shortage } = explanation;
  if (refusal) return `${refusal.message.replaceAll('`', '').replace(/\.$/, '')}.`;
  const chosen = explanation.candidates?.find(({ model }) => model === choice);
  if (!chosen) return `${choice ?? 'No model'} would answer.`;
  const figures = `for about ${usd(usdOf(chosen.cost_credits, explanation)).short} in ${duration(chosen.latency_ms).short}, good in ${percent(chosen.counted_quality).short} of answers`;
  return shortage
    ? `${chosen.model} would be chosen, but its funds do not suffice (${shortage}).`
    : `${chosen.model} would answer ${figures}.`;
}

const pointOf = (candidate: ExplainedCandidate, explanation: RequestExplanation): ScatterPoint => ({
  name: candidate.model,
  cost: usdOf(candidate.cost_credits, explanation),
  quality: candidate.counted_quality,
  timeMs: candidate.latency_ms,
  reason: reasonOf(candidate),
  isChosen: candidate.model === explanation.choice,
});

/** Why a model is left out, with the lines of the policy; null for one that may be chosen. */
const reasonOf = ({ rejections }: ExplainedCandidate): string | null =>
  rejections.length === 0
    ? null
    : rejections
        .map(({ text, rules }) =>
          rules.length === 0 ? text : `${text} (${rules.map(({ file, line }) => `${file}:${line}`).join(', ')})`,
        )
        .join('; ');

const Notices = ({ explanation }: { readonly explanation: RequestExplanation }) => (
  <>
    {explanation.failed_rules.length > 0 && (
      <Partial>
        {explanation.failed_rules.map(({ name }) => name).join(', ')}: the condition failed, and so counts as true.
      </Partial>
    )}
    {explanation.strategy_failed && (
      <Partial>The strategy gave no usable scores: quality, cost and time decided.</Partial>
    )}
    {explanation.left_out_here.length > 0 && (
      <details class="small dim">
        <summary>
          {explanation.left_out_here.length} {explanation.left_out_here.length === 1 ? 'provider is' : 'providers are'}{' '}
          not served here
        </summary>
        <ul class="playground-story">
          {explanation.left_out_here.map((provider) => (
            <li key={provider}>{provider}</li>
          ))}
        </ul>
      </details>
    )}
    {explanation.task_note && <p class="small dim">{explanation.task_note}</p>}
  </>
);

function Figures({ explanation }: { readonly explanation: RequestExplanation }) {
  const { facts, route_reason, first_hold_credits: first, readings, is_funded } = explanation;
  const chosen = explanation.candidates?.find(({ model }) => model === explanation.choice);
  return (
    <dl class="facts">
      <dt>Reason</dt>
      <dd class="mono">{explanation.refusal?.code ?? route_reason}</dd>
      <dt>Task</dt>
      <dd>
        {facts.task}
        {chosen &&
          `, about ${figure(chosen.input_tokens).short} tokens in and ${figure(explanation.expected_output_tokens).short} out`}
      </dd>
      {chosen && (
        <>
          <dt>
            <Explained term="held">Held first</Explained>
          </dt>
          <dd>
            {holdText(first, explanation)}
            {first !== null && first < chosen.worst_case_credits ? ', and more in tranches as the answer grows' : ''}
            {first !== null && first > chosen.worst_case_credits ? ', enough for a fallback, too' : ''}
            {is_funded ? '' : '; the money of a key is not considered'}
          </dd>
          <dt>Worst case</dt>
          <dd>{holdText(chosen.worst_case_credits, explanation)} by the choice</dd>
        </>
      )}
      <dt>Speeds</dt>
      <dd>{readings === 'present' ? 'as this server measures them now' : 'as the policy declares them'}</dd>
    </dl>
  );
}

const holdText = (credits: number | null, explanation: RequestExplanation): string =>
  credits === null ? 'nothing' : `${usd(usdOf(credits, explanation)).short} (${creditsText(credits)})`;

function Candidates({ explanation }: { readonly explanation: RequestExplanation }) {
  return (
    <Table
      label="Candidates"
      rows={explanation.candidates ?? []}
      first={ROWS_SHOWN}
      keyOf={({ model }) => model}
      current={explanation.choice ?? undefined}
      columns={[
        {
          id: 'model',
          head: 'Model',
          cell: ({ model }) => <span class="table-name">{model}</span>,
          sort: ({ model }) => model,
        },
        {
          id: 'quality',
          head: 'Quality',
          isFigure: true,
          figures: ({ counted_quality }) => [percent(counted_quality)],
          sort: ({ counted_quality }) => counted_quality,
        },
        {
          id: 'cost',
          head: 'Cost',
          isFigure: true,
          phone: 'fact',
          figures: ({ cost_credits }) => [costText(usdOf(cost_credits, explanation), explanation)],
          sort: ({ cost_credits }) => cost_credits,
        },
        {
          id: 'time',
          head: 'Time',
          isFigure: true,
          figures: ({ latency_ms }) => [duration(latency_ms)],
          sort: ({ latency_ms }) => latency_ms,
        },
        {
          id: 'place',
          head: 'Rank',
          phone: 'second',
          cell: (candidate) => <Place candidate={candidate} />,
          sort: ({ rank }) => rank,
        },
      ]}
    />
  );
}

/** The rank, or why there is none, with the lines of the policy. */
function Place({ candidate: { rank, rejections } }: { readonly candidate: ExplainedCandidate }) {
  const seesPolicy = reachOfViewer('policy.read') !== null;
  if (rank !== null) return <span class="nowrap">{rank === 1 ? '1, chosen' : rank}</span>;
  return (
    <span class="dim">
      {rejections.map(({ text, rules }, at) => (
        <span key={text}>
          {at > 0 && '; '}
          {text}
          {rules.map(({ name, file, line }) => {
            const place = `${file}:${line}`;
            return (
              <span key={place + name}>
                {' '}
                {seesPolicy ? <a href={hrefOf(`/policies/files/${file}`, { line: String(line) })}>{place}</a> : place}
              </span>
            );
          })}
        </span>
      ))}
    </span>
  );
}
