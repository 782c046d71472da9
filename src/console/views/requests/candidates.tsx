import { paretoFront } from '../../charts/pareto.ts';
import { Scatter, type ScatterPoint } from '../../charts/scatter.tsx';
import { duration, figure, percent } from '../../design/format.ts';
import { Table } from '../../design/table.tsx';
import type { CostWriter } from './costs.ts';
import type { Candidate } from './story.ts';
import { RuleLink } from './told.tsx';

/** Models of a table before it is asked for all. */
const ROWS_SHOWN = 12;

interface CandidatesProps {
  readonly candidates: readonly Candidate[];
  readonly choice: string | null;
  readonly cost: CostWriter;
  /** The policy that decided. */
  readonly revision: string;
  /** Whether it is the decision of now. */
  readonly isToday?: boolean;
}

/** Every model that was considered: cost against quality, and the same as a table with the reasons. */
export function Candidates({ candidates, choice, cost, revision, isToday = false }: CandidatesProps) {
  return (
    <>
      <Scatter
        heading={`${isToday ? 'Today: ' : ''}${headingOf(candidates, choice)}`}
        points={candidates.map((one) => pointOf(one, choice))}
        writeCost={cost}
        writeQuality={percent}
        writeTime={duration}
        height={280}
      />
      <Table
        label={isToday ? 'Candidates of today' : 'Candidates'}
        rows={candidates}
        first={ROWS_SHOWN}
        keyOf={({ model }) => model}
        current={choice ?? undefined}
        columns={[
          { id: 'rank', head: 'Rank', isFigure: true, cell: ({ rank }) => rank ?? <span class="dim">–</span> },
          {
            id: 'model',
            head: 'Model',
            phone: 'main',
            cell: (row) => <ModelCell row={row} choice={choice} revision={revision} />,
          },
          {
            id: 'quality',
            head: 'Quality',
            isFigure: true,
            phone: 'second',
            figures: ({ quality, counted_quality }) => [percent(quality === null ? null : counted_quality)],
          },
          {
            id: 'cost',
            head: 'Cost',
            isFigure: true,
            phone: 'fact',
            figures: ({ cost_credits }) => [cost(cost_credits)],
          },
          {
            id: 'time',
            head: 'Time',
            isFigure: true,
            figures: ({ latency_ms }) => [duration(latency_ms)],
          },
          {
            id: 'utility',
            head: 'Utility',
            isFigure: true,
            figures: ({ utility }) => [figure(utility)],
          },
        ]}
      />
    </>
  );
}

const ModelCell = ({
  row: { model, rank, rejections },
  choice,
  revision,
}: {
  readonly row: Candidate;
  readonly choice: string | null;
  readonly revision: string;
}) => (
  <div class="requests-candidate">
    <span class={rank === null ? 'dim' : undefined}>
      {model}
      {model === choice && <span class="small dim"> chosen</span>}
    </span>
    {rejections.map(({ text, rules }) => (
      <span key={text} class="small dim">
        {rules.length === 0 ? text : 'left out by '}
        {rules.map((rule, at) => (
          <span key={`${rule.file}:${rule.line}`}>
            {at > 0 && ', '}
            <RuleLink rule={rule} revision={revision} />
          </span>
        ))}
      </span>
    ))}
  </div>
);

const pointOf = (
  { model, cost_credits, counted_quality, latency_ms, rank, rejections }: Candidate,
  choice: string | null,
): ScatterPoint => ({
  name: model,
  cost: cost_credits,
  quality: counted_quality,
  timeMs: latency_ms,
  reason: rank === null ? rejections.map(({ text }) => text).join('; ') || 'left out' : null,
  isChosen: model === choice,
});

function headingOf(candidates: readonly Candidate[], choice: string | null): string {
  const ranked = candidates.filter(({ rank }) => rank !== null);
  const chosen = ranked.find(({ model }) => model === choice);
  const left = candidates.length - ranked.length;
  if (!chosen) return `All ${left} models were left out.`;
  const points = ranked.map((one) => ({ model: one.model, cost: one.cost_credits, quality: one.counted_quality }));
  const isOnFront = paretoFront(points).some(({ model }) => model === choice);
  const rest = left === 0 ? '' : `; ${left} ${left === 1 ? 'was' : 'were'} left out`;
  if (ranked.length === 1) return `${chosen.model} was the only model that could serve it${rest}.`;
  const place = isOnFront ? 'none of the others was cheaper and better' : 'another was cheaper and better, but slower';
  return `Of ${ranked.length} models that could serve it, ${place}${rest}.`;
}
