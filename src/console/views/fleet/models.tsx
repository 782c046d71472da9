import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Field } from '../../design/field.tsx';
import { figure, NONE, percent, usd } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Empty, Loaded, Skeleton } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { hrefWith, param } from '../../shell/router.ts';
import { accessText, type ModelHolders, type ModelLine, useModelHolders } from './model-access.ts';
import { ModelPanel } from './model-panel.tsx';

/** The models that the viewer may use, with what they are compared by. */
export function Models() {
  const models = useResource('/admin/models');
  const holders = useModelHolders();
  const [find, setFind] = useState('');
  const open = param('open');
  return (
    <section class="card" aria-labelledby="models">
      <Loaded what="Models" of={models} skeleton={<Skeleton rows={8} />}>
        {({ data }) => {
          const lines = data.filter(({ price, id, display_name }) => price !== null && id === display_name);
          const wanted = find.trim().toLowerCase();
          const shown = lines.filter(({ id, owned_by }) => `${id} ${owned_by}`.toLowerCase().includes(wanted));
          const chosen = lines.find(({ id }) => id === open);
          return (
            <>
              <div class="card-head">
                <h2 id="models">{headingOf(lines)}</h2>
                <Field
                  isBare
                  type="search"
                  label="Find a model"
                  placeholder="Find a model"
                  value={find}
                  onValue={setFind}
                />
              </div>
              {lines.length === 0 ? (
                <Empty title="No model can be used">
                  Add one under <code>models</code> in the policy, and set the API key of its provider.
                </Empty>
              ) : shown.length === 0 ? (
                <Empty title="No name matches">Clear the field to see all {lines.length}.</Empty>
              ) : (
                <Table
                  label="Models"
                  rows={shown}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => hrefWith({ open: id })}
                  current={open === '' ? undefined : open}
                  columns={columnsOf(holders)}
                />
              )}
              <p class="table-foot">
                Prices are USD per 1M tokens at the provider that is tried first. Rules of the policy can still leave a
                model out of a request.
              </p>
              {chosen && (
                <ModelPanel
                  key={chosen.id}
                  model={chosen}
                  aliases={data.flatMap(({ id, display_name }) =>
                    display_name === chosen.id && id !== chosen.id ? [id] : [],
                  )}
                  holders={holders}
                />
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function headingOf(lines: readonly ModelLine[]): string {
  const cheapest = lines.toSorted((one, other) => outputPrice(one) - outputPrice(other))[0];
  if (!cheapest || lines.length < 2) return lines.length === 1 ? 'One model can be used.' : 'Models';
  return `${figure(lines.length).short} models can be used; ${cheapest.id} has the cheapest output.`;
}

const outputPrice = ({ price }: ModelLine): number => Number(price?.output_usd ?? Number.POSITIVE_INFINITY);

const columnsOf = (holders: ModelHolders | null): readonly TableColumn<ModelLine>[] => [
  {
    id: 'model',
    head: 'Model',
    cell: ({ id }) => (
      <span class="fleet-model">
        <svg class={markOf(id)} width="8" height="8" aria-hidden="true">
          <circle cx="4" cy="4" r="4" fill="currentColor" />
        </svg>
        <span class="table-name">{id}</span>
      </span>
    ),
    sort: ({ id }) => id,
  },
  { id: 'provider', head: 'Provider', cell: ({ owned_by }) => owned_by, sort: ({ owned_by }) => owned_by },
  {
    id: 'input',
    head: 'Input',
    unit: 'USD per 1M',
    isFigure: true,
    phone: 'second',
    figures: ({ price }) => [price ? usd(price.input_usd) : NONE],
    sort: ({ price }) => price && Number(price.input_usd),
  },
  {
    id: 'output',
    head: 'Output',
    unit: 'USD per 1M',
    isFigure: true,
    figures: ({ price }) => [price ? usd(price.output_usd) : NONE],
    sort: outputPrice,
  },
  {
    id: 'context',
    head: 'Context',
    unit: 'tokens',
    isFigure: true,
    figures: ({ max_input_tokens }) => [figure(max_input_tokens)],
    sort: ({ max_input_tokens }) => max_input_tokens,
  },
  {
    id: 'quality',
    head: 'Quality',
    isFigure: true,
    figures: ({ quality }) => [percent(quality?.default ?? null)],
    sort: ({ quality }) => quality?.default ?? null,
  },
  ...(holders
    ? [
        {
          id: 'who',
          head: 'Who may use it',
          phone: 'fact' as const,
          cell: (model: ModelLine) => <span class="fleet-who">{accessText(model, holders)}</span>,
        },
      ]
    : []),
];
