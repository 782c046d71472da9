import { Card } from '../../design/card.tsx';
import { Field, Filters, Select } from '../../design/field.tsx';
import { percent, plural } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { NamedState, type StateWords } from '../../design/tag.tsx';
import { moneyFigure } from '../../design/written.tsx';
import { param, setParams } from '../../shell/router.ts';
import { changesBody, draft } from './draft.ts';
import { Diagnostics } from './file.tsx';
import { placeHref } from './places.ts';
import { type ToolAnswer, useTool } from './tools.ts';

type Results = ToolAnswer<'test'>;
type CaseResult = Results['cases'][number];

const STATUSES: StateWords = { failed: ['bad', 'Failed'], not_run: ['quiet', 'Did not run'], holds: ['good', 'Holds'] };
const OPTIONS = [
  { value: '', label: 'All' },
  ...Object.entries(STATUSES).map(([value, [, label]]) => ({ value, label })),
];

/** The test cases of the policy: their results, and the rules that they do not cover. If there is an edit, the cases run on it. */
export function CasesPage() {
  const results = useTool('test', changesBody());
  return (
    <Loaded what="Cases" of={results}>
      {({ counts, errors, diagnostics, cases, coverage }) =>
        counts === null ? (
          <section class="card stack-tight">
            <h2>The policy has {plural(errors, 'error')}, so its cases do not run.</h2>
            <Diagnostics found={diagnostics} withFile />
          </section>
        ) : cases.length === 0 ? (
          <Empty title="The policy has no cases">
            Write the requests that matter under <code>cases</code>, each with the outcome that you expect: an edit that
            breaks one is refused.
          </Empty>
        ) : (
          <div class="stack" aria-busy={results.isLoading}>
            <Figures counts={counts} coverage={coverage} />
            <CaseList cases={cases} />
            {coverage && <Untouched untouched={coverage.untouched} />}
          </div>
        )
      }
    </Loaded>
  );
}

interface FiguresProps {
  readonly counts: NonNullable<Results['counts']>;
  readonly coverage: Results['coverage'];
}

const exactly = (text: string) => ({ short: text, exact: text });

const Figures = ({ counts, coverage }: FiguresProps) => (
  <Heroes>
    <Hero
      label="Cases that hold"
      value={exactly(`${counts.hold} of ${counts.cases}`)}
      notes={[draft.value ? 'with your edit' : 'of the files on disk']}
    />
    <Hero
      label="Failed"
      value={exactly(`${counts.failed}`)}
      notes={[
        counts.failed === 0
          ? 'Signalbox refuses an edit that fails a case'
          : 'Signalbox refuses an edit until its cases hold',
      ]}
    />
    <Hero
      label="Did not run"
      value={exactly(`${counts.not_run}`)}
      notes={['this server cannot serve one of their models']}
    />
    <Hero
      label="Coverage"
      value={coverage && percent(coverage.percent / 100)}
      notes={coverage && [`${coverage.touched} of ${coverage.total} rules and models`]}
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
        <Select label="Result" value={status} options={OPTIONS} onValue={(value) => setParams({ result: value })} />
      </Filters>
      {shown.length === 0 ? (
        <Empty title="No case matches">Clear the filters to see all {cases.length}.</Empty>
      ) : (
        <Table
          label="Cases"
          rows={shown}
          keyOf={({ name, file, line }) => `${name} ${file} ${line}`}
          columns={[
            { id: 'name', head: 'Case', sort: ({ name }) => name, cell: nameOf },
            {
              id: 'status',
              head: 'Result',
              phone: 'fact',
              sort: ({ status: name }) => name,
              cell: ({ status: name }) => <NamedState name={name} of={STATUSES} />,
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
              sort: true,
              figure: ({ cost_credits: credits, cost_usd: usd }) =>
                moneyFigure({ usd: usd === null ? null : String(usd), credits }),
            },
          ]}
        />
      )}
    </section>
  );
}

const nameOf = (of: CaseResult) => (
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

const Untouched = ({ untouched }: Pick<NonNullable<Results['coverage']>, 'untouched'>) => (
  <Card
    id="policies-coverage"
    heading={
      untouched.length === 0
        ? 'The cases that hold cover every rule and model.'
        : `The cases that hold do not cover ${untouched.length} of the rules and models.`
    }
  >
    {untouched.length > 0 && (
      <Table
        label="Rules and models without a case"
        rows={untouched}
        keyOf={({ kind, name }) => `${kind} ${name}`}
        columns={[
          { id: 'name', head: 'Name', cell: (one) => <a href={placeHref(one)}>{one.name}</a> },
          { id: 'kind', head: 'Kind', cell: ({ kind }) => kind },
        ]}
      />
    )}
  </Card>
);
