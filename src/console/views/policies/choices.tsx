import { inColumn } from '../../design/column.ts';
import { Field, Filters, Select } from '../../design/field.tsx';
import { plural, type WrittenFigure } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { moneyFigure, Written } from '../../design/written.tsx';
import { param, setParams } from '../../shell/router.ts';
import { changesBody, draft } from './draft.ts';
import { Diagnostics } from './file.tsx';
import { type ToolAnswer, useTool } from './tools.ts';

type Check = ToolAnswer<'check'>;
type Choice = NonNullable<Check['choices']>[number];

/** The choices of all selectors for a task and a difficulty. */
interface ChoiceRow {
  readonly task: string;
  readonly difficulty: Choice['difficulty'];
  readonly choices: ReadonlyMap<string, Choice>;
}

const SETTINGS = [
  { value: '', label: 'All' },
  { value: 'here', label: 'Set up here' },
] as const;
const DIFFICULTIES = ['', 'easy', 'usual', 'hard'].map((value) => ({ value, label: value || 'All' }));

/** The model that each selector chooses for each task and difficulty, in the policy with the edit, if there is one. */
export function ChoicesPage() {
  const setting = param('providers') === 'here' ? 'here' : '';
  const result = useTool('check', { ...changesBody(), choices: setting || 'all_set' });
  return (
    <Loaded what="Choices" of={result}>
      {({ choices, orders, errors, diagnostics }) =>
        errors > 0 ? (
          <section class="card stack-tight">
            <h2>The policy has {plural(errors, 'error')}, so its selectors choose nothing.</h2>
            <Diagnostics found={diagnostics} withFile />
          </section>
        ) : (
          <section class="card stack-tight" aria-label="Choices" aria-busy={result.isLoading}>
            <ChoiceFilters setting={setting} />
            {choices ? (
              <ChoiceTable choices={choices} />
            ) : (
              <Empty title="No model can serve here">No provider of the policy is set up on this server.</Empty>
            )}
            {choices && <Reasons choices={choices} />}
            {orders && orders.length > 0 && <OrderTable orders={orders} />}
            <p class="small dim">{noteText(setting)}</p>
          </section>
        )
      }
    </Loaded>
  );
}

function ChoiceFilters({ setting }: { readonly setting: '' | 'here' }) {
  const [task, difficulty] = [param('task'), param('difficulty')];
  return (
    <Filters onClear={task || difficulty ? () => setParams({ task: null, difficulty: null }) : null}>
      <Field label="Task" type="search" value={task} onValue={(value) => setParams({ task: value })} />
      <Select
        label="Difficulty"
        value={difficulty}
        options={DIFFICULTIES}
        onValue={(value) => setParams({ difficulty: value })}
      />
      <Select
        label="Providers"
        value={setting}
        options={SETTINGS}
        onValue={(value) => setParams({ providers: value })}
      />
    </Filters>
  );
}

function ChoiceTable({ choices }: { readonly choices: readonly Choice[] }) {
  const [task, difficulty] = [param('task'), param('difficulty')];
  const shown = rowsOf(choices).filter(
    (row) => (difficulty === '' || row.difficulty === difficulty) && row.task.includes(task.trim().toLowerCase()),
  );
  if (shown.length === 0) return <Empty title="No task matches">Clear the filters to see all tasks.</Empty>;
  const selectors = [...new Set(choices.map(({ selector }) => selector))];
  const columns: readonly TableColumn<ChoiceRow>[] = [
    { id: 'task', head: 'Task', cell: (row) => row.task },
    { id: 'difficulty', head: 'Difficulty', phone: 'more', cell: (row) => row.difficulty },
    ...selectors.map((selector) => {
      const inFormat = inColumn(choices.filter((choice) => choice.selector === selector).map(costOf));
      return {
        id: `by-${selector}`,
        head: selector,
        phone: 'more' as const,
        cell: (row: ChoiceRow) => <Chosen choice={row.choices.get(selector)} inFormat={inFormat} />,
      };
    }),
  ];
  return <Table label="Choices" rows={shown} keyOf={(row) => `${row.task} ${row.difficulty}`} columns={columns} />;
}

/** The reason of each choice, once each. */
function Reasons({ choices }: { readonly choices: readonly Choice[] }) {
  const reasons = choices.flatMap(({ selector, because }) => (because === null ? [] : [`${selector}: ${because}.`]));
  return (
    <ul class="small">
      {[...new Set(reasons)].map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
  );
}

type Order = NonNullable<Check['orders']>[number];

/** How many models of an order the table lists. */
const SHOWN = 4;

const firstOf = (ids: readonly string[]): string => ids.slice(0, SHOWN).join(', then ');

const ORDER_COLUMNS: readonly TableColumn<Order>[] = [
  { id: 'selector', head: 'Selector', cell: ({ selector }) => selector },
  {
    id: 'order',
    head: 'Order',
    phone: 'more',
    cell: ({ order, stated }) =>
      stated ? `usual: ${firstOf(stated.usual)}; strong: ${firstOf(stated.strong)} (stated)` : firstOf(order),
  },
];

/** The first models of each selector, in the order in which they are tried. */
const OrderTable = ({ orders }: { readonly orders: readonly Order[] }) => (
  <Table label="Orders" rows={orders} keyOf={({ selector }) => selector} columns={ORDER_COLUMNS} />
);

function rowsOf(choices: readonly Choice[]): readonly ChoiceRow[] {
  const asked = Map.groupBy(choices, ({ task, difficulty }) => `${task} ${difficulty}`);
  return [...asked.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [
          {
            task: first.task,
            difficulty: first.difficulty,
            choices: new Map([first, ...others].map((choice) => [choice.selector, choice])),
          },
        ],
  );
}

const costOf = ({ cost_usd, cost_credits }: Choice): WrittenFigure =>
  moneyFigure({ usd: cost_usd === null ? null : String(cost_usd), credits: cost_credits });

interface ChosenProps {
  readonly choice: Choice | undefined;
  /** Writes a cost in the format of its column. */
  readonly inFormat: (cost: WrittenFigure) => WrittenFigure;
}

function Chosen({ choice, inFormat }: ChosenProps) {
  if (!choice || choice.model === null) return <span class="dim">no model</span>;
  return (
    <span title={`${choice.provider}, ${choice.because ?? choice.reason}`}>
      {choice.model}{' '}
      <span class="small dim">
        <Written value={inFormat(costOf(choice))} />
      </span>
    </span>
  );
}

/** The assumptions about requests and providers. */
function noteText(setting: '' | 'here'): string {
  const figures = draft.value ? 'the policy and your edit' : 'the policy';
  const providers = setting === '' ? ' Every provider counts as set up.' : '';
  return `The choices apply to requests of the usual size of their task, from a key without labels, with the figures of ${figures}.${providers}`;
}
