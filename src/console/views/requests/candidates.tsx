import type { ComponentChildren } from 'preact';
import { Scatter } from '../../charts/scatter.tsx';
import { duration, figure, NONE, percent, usd, type WrittenFigure } from '../../design/format.ts';
import { Table, type TableColumn } from '../../design/table.tsx';
import { Coded, creditsText } from '../../design/written.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import { revisionHref } from '../policies/places.ts';
import type { Candidate, Rule } from './story.ts';

/**
 * Returns a function that writes Credits in USD and shows Credits under the pointer. Without an exchange rate, the returned function writes
 * only Credits.
 */
export const costWriter =
  (usdPerCredit: string | null) =>
  (credits: number | null): WrittenFigure => {
    if (credits === null || !Number.isFinite(credits)) return NONE;
    const exact = `${credits} Credits`;
    if (usdPerCredit === null) return { short: creditsText(credits), exact };
    const amount = usd(credits * Number(usdPerCredit));
    return { ...amount, exact: `${amount.exact} · ${exact}` };
  };

export type CostWriter = ReturnType<typeof costWriter>;

type Column = TableColumn<Candidate>;

interface CandidatesProps {
  readonly heading: string;
  /** The label of the table. */
  readonly label: string;
  readonly candidates: readonly Candidate[];
  readonly choice: string | null;
  readonly cost: CostWriter;
  readonly columns: (figures: Readonly<Record<'quality' | 'price' | 'time', Column>>) => readonly Column[];
  /** Content between the chart and the table. */
  readonly children?: ComponentChildren;
}

/** All models that were considered: a chart of cost against quality, and a table with the reasons. */
export const Candidates = ({ heading, label, candidates, choice, cost, columns, children }: CandidatesProps) => (
  <>
    <Scatter
      heading={heading}
      points={candidates.map(({ model, cost_credits, counted_quality, latency_ms, rank, rejections }) => ({
        ...{
          name: model,
          cost: cost_credits,
          quality: counted_quality,
          timeMs: latency_ms,
          isChosen: model === choice,
        },
        reason: rank === null ? rejections.map(({ text }) => text).join('; ') || 'left out' : null,
      }))}
      writeCost={cost}
      writeQuality={percent}
      writeTime={duration}
    />
    {children}
    <Table
      label={label}
      rows={candidates}
      first={12}
      keyOf={({ model }) => model}
      current={choice ?? undefined}
      columns={columns({
        quality: {
          id: 'quality',
          head: 'Quality',
          sort: true,
          figure: ({ quality, counted_quality }) => percent(quality === null ? null : counted_quality),
        },
        price: { id: 'cost', head: 'Cost', figure: (one) => cost(one.cost_credits), sort: true, phone: 'fact' },
        time: { id: 'time', head: 'Time', figure: ({ latency_ms }) => duration(latency_ms), sort: true },
      })}
    />
  </>
);

interface DecidedProps extends Pick<CandidatesProps, 'candidates' | 'choice' | 'cost'> {
  /** The revision that made the decision. */
  readonly revision: string;
  /** Whether the decision was made now and not read from a record. */
  readonly isToday?: boolean;
}

/** The candidates of a decision, with the lines of the policy that left some of them out. */
export const DecidedCandidates = ({ candidates, choice, cost, revision, isToday = false }: DecidedProps) => (
  <Candidates
    heading={`${isToday ? 'Today: ' : ''}${headingOf(candidates, choice)}`}
    label={isToday ? 'Candidates of today' : 'Candidates'}
    {...{ candidates, choice, cost }}
    columns={({ quality, price, time }) => [
      { id: 'rank', head: 'Rank', isFigure: true, cell: ({ rank }) => rank ?? <span class="dim">–</span> },
      {
        id: 'model',
        head: 'Model',
        phone: 'main',
        cell: ({ model, rank, rejections }) => (
          <div class="requests-candidate">
            <span class={rank === null ? 'dim' : undefined}>
              {model}
              {model === choice && <span class="small dim"> chosen</span>}
            </span>
            {rejections.map(({ text, rules }) => (
              <span key={text} class="small dim">
                {rules.length === 0 ? <Coded text={text} /> : 'left out by '}
                {rules.map((rule, at) => (
                  <span key={`${rule.file}:${rule.line}`}>
                    {at > 0 && ', '}
                    <RuleLink rule={rule} revision={revision} />
                  </span>
                ))}
              </span>
            ))}
          </div>
        ),
      },
      { ...quality, phone: 'second' },
      price,
      time,
      ...(candidates.some(({ utility }) => utility !== null)
        ? [{ id: 'utility', head: 'Utility', figure: ({ utility }: Candidate) => figure(utility) }]
        : []),
    ]}
  />
);

function headingOf(candidates: readonly Candidate[], choice: string | null): string {
  const ranked = candidates.filter(({ rank }) => rank !== null);
  const chosen = ranked.find(({ model }) => model === choice);
  const left = candidates.length - ranked.length;
  if (!chosen) return `All ${left} models were left out.`;
  const rest = left === 0 ? '' : `; ${left} ${left === 1 ? 'was' : 'were'} left out`;
  if (ranked.length === 1) return `${chosen.model} was the only model that could serve the request${rest}.`;
  const isBeaten = ranked.some(
    ({ cost_credits: cost, counted_quality: quality }) =>
      (cost < chosen.cost_credits && quality >= chosen.counted_quality) ||
      (cost <= chosen.cost_credits && quality > chosen.counted_quality),
  );
  const place = isBeaten
    ? 'another model was cheaper and better, but slower'
    : 'no other model was both cheaper and better';
  return `Of ${ranked.length} models that could serve the request, ${place}${rest}.`;
}

interface RuleLinkProps {
  readonly rule: Rule;
  /** The revision that contains the rule. */
  readonly revision: string;
}

/** A rule's name and its line in the policy. For viewers who may read the policy, the line is a link. */
export function RuleLink({ rule: { name, file, line }, revision }: RuleLinkProps) {
  const place = `${file}:${line}`;
  const href = revisionHref(revision, { file, line: String(line) });
  return (
    <span class="requests-rule">
      {name} ({reachOfViewer('policy.read') === null ? place : <a href={href}>{place}</a>})
    </span>
  );
}
