import type { ComponentChildren } from 'preact';
import { Scatter } from '../../charts/scatter.tsx';
import { duration, figure, percent, usd, type WrittenFigure } from '../../design/format.ts';
import { Table, type TableColumn } from '../../design/table.tsx';
import { Coded, moneyFigure } from '../../design/written.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import { placeHref, revisionHref } from '../policies/places.ts';
import { type Candidate, plainText, type Rule, type Sentence, sentencesAbout } from './decision-read.ts';

/** The expected cost of a candidate, in USD if the worth of a Credit is known. */
const costOf = ({ cost_usd, cost_credits }: Candidate): WrittenFigure =>
  moneyFigure({ usd: cost_usd, credits: cost_credits });

type Column = TableColumn<Candidate>;

interface CandidatesProps {
  readonly heading: string;
  /** The label of the table. */
  readonly label: string;
  readonly candidates: readonly Candidate[];
  readonly choice: string | null;
  readonly columns: (figures: Readonly<Record<'quality' | 'price' | 'time', Column>>) => readonly Column[];
  /** Content between the chart and the table. */
  readonly children?: ComponentChildren;
}

/** All models that were considered: a chart of cost against quality, and a table with the reasons. */
export const Candidates = ({ heading, label, candidates, choice, columns, children }: CandidatesProps) => (
  <>
    <Scatter
      heading={heading}
      points={candidates.map(({ model, cost_usd, cost_credits, counted_quality, latency_ms, rank, rejections }) => ({
        ...{
          name: model,
          cost: cost_usd === null ? cost_credits : Number(cost_usd),
          quality: counted_quality,
          timeMs: latency_ms,
          isChosen: model === choice,
        },
        reason: rank === null ? rejections.map(({ text }) => text).join('; ') || 'left out' : null,
      }))}
      writeCost={candidates.some(({ cost_usd }) => cost_usd !== null) ? usd : (credits) => figure(credits, 'Credits')}
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
        price: { id: 'cost', head: 'Cost', figure: costOf, sort: true, phone: 'fact' },
        time: { id: 'time', head: 'Time', figure: ({ latency_ms }) => duration(latency_ms), sort: true },
      })}
    />
  </>
);

interface DecidedProps extends Pick<CandidatesProps, 'candidates' | 'choice'> {
  /** The sentences about the decision, of which one is the heading. */
  readonly sentences: readonly Sentence[];
  /** The revision that made the decision. */
  readonly revision: string;
  /** Whether the decision was made now and not read from a record. */
  readonly isToday?: boolean;
}

/** The candidates of a decision, with the lines of the policy that left some of them out. */
export const DecidedCandidates = ({ candidates, choice, sentences, revision, isToday = false }: DecidedProps) => (
  <Candidates
    heading={`${isToday ? 'Today: ' : ''}${headingOf(sentences)}`}
    label={isToday ? 'Candidates of today' : 'Candidates'}
    {...{ candidates, choice }}
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

/** The sentence about all candidates, which a refusal and a decision with only one of them do not have. */
function headingOf(sentences: readonly Sentence[]): string {
  return plainText(sentencesAbout(sentences, 'candidates')) || 'Cost and quality';
}

interface RuleLinkProps {
  readonly rule: Rule;
  /** The revision that contains the rule; null for the active policy. */
  readonly revision: string | null;
}

/** A rule's name and its line in the policy. */
export const RuleLink = ({ rule, revision }: RuleLinkProps) => (
  <span class="requests-rule">
    {rule.name} (<RulePlace {...{ rule, revision }} />)
  </span>
);

/** The line of a rule, which is a link for viewers who may read the policy. */
export function RulePlace({ rule, revision }: RuleLinkProps) {
  const { file, line } = rule;
  const place = `${file}:${line}`;
  if (reachOfViewer('policy.read') === null) return <>{place}</>;
  const href = revision === null ? placeHref(rule) : revisionHref(revision, { file, line: String(line) });
  return <a href={href}>{place}</a>;
}
