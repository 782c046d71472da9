import { useResource } from '../../api/resource.ts';
import { Card } from '../../design/card.tsx';
import { Select } from '../../design/field.tsx';
import { duration, NONE, percent, plural, usd } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State, Tag } from '../../design/tag.tsx';
import { Coded, moneyFigure } from '../../design/written.tsx';
import { hrefWith, param, setParams } from '../../shell/router.ts';
import { changes, draft, type PolicyFiles } from './draft.ts';
import { Diagnostics } from './file.tsx';
import { DISK, EDIT, placeHref, RUNNING, shortOf } from './places.ts';
import { Texts } from './texts.tsx';
import { type ToolAnswer, useTool } from './tools.ts';

type Difference = ToolAnswer<'diff'>;

/** Compares two policies: their declarations, their decisions for the test cases, and their texts. */
export function DiffPage({ files }: { readonly files: PolicyFiles }) {
  const hasEdit = draft.value !== null;
  const a = param('a') || RUNNING;
  const b = param('b') || (hasEdit ? EDIT : DISK);
  const revisions = useResource('/admin/policy/revisions', { limit: 50 });
  const isMissing = [a, b].includes(EDIT) && !hasEdit;
  const running = { revision: files.revision };
  const body = { ...(a !== RUNNING && { a: sent(a) }), b: b === RUNNING ? running : sent(b) };
  const difference = useTool('diff', isMissing ? null : body);
  const stored = (revisions.data?.data ?? []).filter(({ is_stored }) => is_stored).map(({ revision }) => revision);
  const special = new Map([
    [RUNNING, `Active, ${shortOf(files.revision)}`],
    [DISK, 'The files on disk'],
    [EDIT, 'Your edit'],
  ]);
  const labelOf = (side: string) => special.get(side) ?? `Revision ${shortOf(side)}`;
  const sides = [RUNNING, DISK, EDIT, ...stored.filter((revision) => revision !== files.revision), a, b];
  const options = [...new Set(sides)]
    .filter((side) => side !== EDIT || hasEdit)
    .map((value) => ({ value, label: labelOf(value) }));
  return (
    <div class="stack">
      <fieldset class="filters" aria-label="Policies to compare">
        <Select label="From" value={a} options={options} onValue={(value) => setParams({ a: value, b }, false)} />
        <Select label="To" value={b} options={options} onValue={(value) => setParams({ a, b: value }, false)} />
        <a class="button button-plain" href={hrefWith({ a: b, b: a })}>
          Swap
        </a>
      </fieldset>
      {isMissing ? (
        <Empty title="You have no edit">
          Only the page where you made an edit contains it. Open a file to start an edit.
        </Empty>
      ) : (
        <Loaded what="Differences" of={difference}>
          {(found) => (
            <div class="stack" aria-busy={difference.isLoading}>
              <Outcome found={found} />
              <Texts
                key={`${a} ${b}`}
                files={files}
                a={{ side: a, label: labelOf(a) }}
                b={{ side: b, label: labelOf(b) }}
                patch={found.patch}
              />
            </div>
          )}
        </Loaded>
      )}
    </div>
  );
}

function sent(side: string) {
  if (side === DISK) return {};
  return side === EDIT ? { changes: changes.value } : { revision: side };
}

const SIDE_NAMES: Readonly<Record<string, string>> = { bundle: 'Your edit', folder: 'The policy on disk' };

function Outcome({ found }: { readonly found: Difference }) {
  const broken = [found.a, found.b].filter(({ loaded }) => !loaded);
  const totals = found.totals?.cases;
  return (
    <>
      {broken.map(({ name, kind, message, diagnostics }) => (
        <section class="card stack-tight" key={name}>
          <h2>{SIDE_NAMES[kind] ?? `Revision ${shortOf(name)}`} has errors, so its decisions cannot be compared.</h2>
          {message && (
            <p>
              <Coded text={message} />
            </p>
          )}
          <Diagnostics found={diagnostics ?? []} withFile />
        </section>
      ))}
      {broken.length === 0 && <Declarations found={found} />}
      {totals && <Decisions cases={found.cases ?? []} totals={totals} />}
    </>
  );
}

function Declarations({ found: { changes: declared, renamed } }: { readonly found: Difference }) {
  const count = declared.length + renamed.length;
  return (
    <Card
      id="policies-declared"
      heading={
        count === 0
          ? 'Both policies have the same declarations.'
          : `${plural(count, 'declaration')} ${count === 1 ? 'differs' : 'differ'}.`
      }
    >
      {renamed.map(({ section, from, to }) => (
        <p key={`${section} ${from}`}>
          <Tag>renamed</Tag> {section}: {from} → {to}
        </p>
      ))}
      {declared.length > 0 && (
        <Table
          label="Declarations that differ"
          rows={declared}
          keyOf={({ section, name, change }) => `${section} ${name} ${change}`}
          columns={[
            {
              id: 'name',
              head: 'Declaration',
              cell: ({ section, name }) => (
                <span class="policies-breaks">{name === null ? section : `${section}: ${name}`}</span>
              ),
            },
            { id: 'change', head: 'Change', phone: 'fact', cell: ({ change }) => <Tag>{change}</Tag> },
            {
              id: 'keys',
              head: 'Keys',
              phone: 'second',
              cell: ({ keys }) =>
                !keys?.length ? (
                  'all keys'
                ) : (
                  <ul class="policies-keylist">
                    {keys.map(({ key, from, to }) => (
                      <li key={key}>
                        <code>{key}</code> {valueText(from)} → {valueText(to)}
                      </li>
                    ))}
                  </ul>
                ),
            },
          ]}
        />
      )}
    </Card>
  );
}

const VALUE_MAX = 120;
function valueText(value: unknown): string {
  if (value === undefined) return 'none';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
}

type Totals = NonNullable<Difference['totals']>['cases'];
type DecidedCase = NonNullable<Difference['cases']>[number];

function decisionsSentence({ count, different, broken }: Totals): string {
  const noLonger = ` ${plural(broken, 'case')} no longer ${broken === 1 ? 'holds' : 'hold'}.`;
  const alike =
    count === 1
      ? 'Both policies decide the one case alike.'
      : `Both policies decide all ${plural(count, 'case')} alike.`;
  const differently = `The policies decide ${different} of ${plural(count, 'case')} differently.`;
  const sentence =
    count === 0 ? 'Neither policy has cases, so no decisions can be compared.' : different === 0 ? alike : differently;
  return sentence + (broken > 0 ? noLonger : '');
}

function Decisions({ cases, totals }: { readonly cases: readonly DecidedCase[]; readonly totals: Totals }) {
  const { a, b, count } = totals;
  const cost = a.cost_credits > 0 ? percent(b.cost_credits / a.cost_credits - 1) : null;
  return (
    <Card id="policies-decided" heading={decisionsSentence(totals)}>
      {count > 0 && (
        <p class="dim">
          Expected cost of the cases that both policies answer: {usd(a.cost_usd).short} before, {usd(b.cost_usd).short}{' '}
          after
          {cost && cost.short !== '0 %' ? ` (${b.cost_credits > a.cost_credits ? '+' : ''}${cost.short})` : ''}.
          Expected time: {duration(a.latency_ms).short} before, {duration(b.latency_ms).short} after.
        </p>
      )}
      {cases.length > 0 && (
        <Table
          label="Cases with different decisions"
          rows={cases}
          keyOf={({ name, file, line }) => `${name} ${file} ${line}`}
          columns={[
            {
              id: 'name',
              head: 'Case',
              cell: (one) => (
                <span class="policies-breaks">
                  <a href={placeHref(one)}>{one.name}</a>
                  {one.of !== 'both' && (
                    <span class="small dim"> only in the {one.of === 'a' ? 'earlier' : 'later'} policy</span>
                  )}
                  {one.broken.map(({ key, expected, got }) => (
                    <span class="policies-line small" key={key}>
                      <State tone="bad">Broken</State> {key}: expected {expected}, got {got}
                    </span>
                  ))}
                </span>
              ),
            },
            { id: 'a', head: 'Before', cell: (one) => decidedOf(one.a) },
            { id: 'b', head: 'After', phone: 'fact', cell: (one) => decidedOf(one.b) },
            {
              id: 'cost',
              head: 'Cost after',
              phone: 'second',
              figure: ({ b: later }) =>
                'cost_usd' in later ? moneyFigure({ usd: String(later.cost_usd), credits: later.cost_credits }) : NONE,
            },
          ]}
        />
      )}
    </Card>
  );
}

const decidedOf = (of: DecidedCase['a']) =>
  'refused' in of ? (
    <span title={of.message}>
      <State tone="warn">Refused</State> {of.refused}
    </span>
  ) : (
    <span title={of.reason}>{of.model}</span>
  );
