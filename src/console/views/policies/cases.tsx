import { Field, Filters, Select } from '../../design/field.tsx';
import { percent } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State, type Tone } from '../../design/tag.tsx';
import { moneyFigure } from '../../design/written.tsx';
import { param, setParams } from '../../shell/router.ts';
import { changes } from './draft.ts';
import { Diagnostics, plural } from './file.tsx';
import { placeHref } from './places.ts';
import { type ToolAnswer, useTool } from './tools.ts';

type Results = ToolAnswer<'test'>;
type CaseResult = Results['cases'][number];
type Coverage = NonNullable<Results['coverage']>;

const WORDS: Readonly<Record<CaseResult['status'], readonly [Tone, string]>> = {
  holds: ['good', 'Holds'],
  failed: ['bad', 'Failed'],
  not_run: ['quiet', 'Did not run'],
};
const STATUSES = [
  { value: '', label: 'All' },
  { value: 'failed', label: 'Failed' },
  { value: 'not_run', label: 'Did not run' },
  { value: 'holds', label: 'Holds' },
];

/** The policy's own cases: their results, and what they leave untouched. They run on the edit, where there is one. */
export function CasesPage() {
  const sent = changes.value;
  const results = useTool('test', sent.length === 0 ? {} : { changes: sent });
  return (
    <Loaded what="Cases" of={results}>
      {(found) =>
        found.counts === null ? (
          <section class="card stack-tight">
            <h2>The policy has {plural(found.errors, 'error')}, so its cases do not run.</h2>
            <Diagnostics found={found.diagnostics} withFile />
          </section>
        ) : found.cases.length === 0 ? (
          <Empty title="The policy has no cases">
            Write the requests that matter under <code>cases</code>, each with the outcome that you expect: an edit that
            breaks one is refused.
          </Empty>
        ) : (
          <div class="stack" aria-busy={results.isLoading}>
            <Figures found={found} counts={found.counts} isEdited={sent.length > 0} />
            <CaseList cases={found.cases} />
            {found.coverage && <CoverageCard coverage={found.coverage} />}
          </div>
        )
      }
    </Loaded>
  );
}

const Figures = ({
  found,
  counts,
  isEdited,
}: {
  readonly found: Results;
  readonly counts: NonNullable<Results['counts']>;
  readonly isEdited: boolean;
}) => (
  <Heroes>
    <Hero
      label="Cases that hold"
      value={{ short: `${counts.hold} of ${counts.cases}`, exact: `${counts.hold} of ${counts.cases}` }}
      notes={[isEdited ? 'with your edit' : 'of the files on disk']}
    />
    <Hero
      label="Failed"
      value={{ short: String(counts.failed), exact: String(counts.failed) }}
      notes={[counts.failed === 0 ? 'an edit that fails one is refused' : 'an edit is refused until they hold']}
    />
    <Hero
      label="Did not run"
      value={{ short: String(counts.not_run), exact: String(counts.not_run) }}
      notes={['one of their models cannot be served here']}
    />
    <Hero
      label="Coverage"
      value={found.coverage && percent(found.coverage.percent / 100)}
      notes={found.coverage && [`${found.coverage.touched} of ${found.coverage.total} rules and models`]}
    />
  </Heroes>
);

function CaseList({ cases }: { readonly cases: readonly CaseResult[] }) {
  const [text, status] = [param('case'), param('result')];
  const shown = cases.filter(
    (one) => (status === '' || one.status === status) && one.name.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <section class="card stack-tight" aria-label="Results of cases">
      <Filters onClear={text || status ? () => setParams({ case: null, result: null }) : null}>
        <Field label="Case" type="search" value={text} onValue={(value) => setParams({ case: value })} />
        <Select label="Result" value={status} options={STATUSES} onValue={(value) => setParams({ result: value })} />
      </Filters>
      {shown.length === 0 ? (
        <Empty title="No case matches">Clear the filters to see all {cases.length}.</Empty>
      ) : (
        <Table
          label="Cases"
          rows={shown}
          keyOf={({ name, file, line }) => `${name} ${file} ${line}`}
          columns={[
            { id: 'name', head: 'Case', sort: ({ name }) => name, cell: (one) => <CaseCell of={one} /> },
            {
              id: 'status',
              head: 'Result',
              phone: 'fact',
              sort: ({ status: word }) => word,
              cell: ({ status: word }) => <State tone={WORDS[word][0]}>{WORDS[word][1]}</State>,
            },
            {
              id: 'choice',
              head: 'Choice',
              phone: 'second',
              cell: ({ choice, provider, reason }) => (
                <span title={reason ?? undefined}>{choice === null ? '–' : `${choice}, ${provider}`}</span>
              ),
            },
            {
              id: 'cost',
              head: 'Expected cost',
              isFigure: true,
              sort: ({ cost_credits }) => cost_credits,
              figures: ({ cost_credits, cost_usd }) => [
                moneyFigure({ usd: cost_usd === null ? null : String(cost_usd), credits: cost_credits }),
              ],
            },
          ]}
        />
      )}
    </section>
  );
}

const CaseCell = ({ of }: { readonly of: CaseResult }) => (
  <span class="policies-breaks">
    <a href={placeHref(of)}>{of.name}</a>
    {of.failures.map(({ key, expected, got, hint }) => (
      <span class="policies-line small" key={key}>
        {key}: expected {expected}, got {got}
        {hint === null ? '' : `. ${hint}`}
      </span>
    ))}
    {of.missing.map(({ name, reason }) => (
      <span class="policies-line small dim" key={name}>
        {name}: {reason}
      </span>
    ))}
  </span>
);

function CoverageCard({ coverage: { untouched } }: { readonly coverage: Coverage }) {
  return (
    <section class="card" aria-labelledby="policies-coverage">
      <div class="card-head">
        <h2 id="policies-coverage">
          {untouched.length === 0
            ? 'Every rule and model is touched by a case that holds.'
            : `No case that holds touches ${untouched.length} of the rules and models.`}
        </h2>
      </div>
      {untouched.length > 0 && (
        <Table
          label="Untouched rules and models"
          rows={untouched}
          keyOf={({ kind, name }) => `${kind} ${name}`}
          columns={[
            { id: 'name', head: 'Name', cell: (one) => <a href={placeHref(one)}>{one.name}</a> },
            { id: 'kind', head: 'Kind', cell: ({ kind }) => kind },
          ]}
        />
      )}
    </section>
  );
}
