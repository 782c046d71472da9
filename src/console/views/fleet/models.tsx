import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Field } from '../../design/field.tsx';
import { figure, NONE, percent, price as priceFigure } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Empty, Loaded, Skeleton } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { hrefWith, param } from '../../shell/router.ts';
import { accessText, isWildcard, type ModelHolders, type ModelLine, useModelHolders } from './model-access.ts';
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
          const lines = data.filter(
            ({ owned_by, id, display_name }) => owned_by !== 'signalbox' && id === display_name,
          );
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
                Prices are USD per 1M tokens at the provider that is tried first. Open a model to see a fee for each
                request and the prices of long prompts. Rules of the policy can still leave a model out of a request.
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
  const models = lines.filter((line) => !isWildcard(line));
  const wildcards = lines.length - models.length;
  if (lines.length === 0) return 'Models';
  const counts = [
    models.length > 0 && countOf(models.length, 'model'),
    wildcards > 0 && countOf(wildcards, 'wildcard'),
  ].filter((count) => count !== false);
  const [cheapest, next] = models
    .flatMap((model) => {
      const price = outputPrice(model);
      return price === null ? [] : [{ id: model.id, price }];
    })
    .toSorted((one, other) => one.price - other.price);
  const advice = cheapest && next ? `; ${cheapest.id} has the cheapest output` : '';
  return `${counts.join(' and ')} can be used${advice}.`;
}

const countOf = (count: number, noun: string): string => `${figure(count).short} ${noun}${count === 1 ? '' : 's'}`;

/** USD per 1M tokens of output; null for a model that writes no text, and where the policy states no price. */
const outputPrice = (model: ModelLine): number | null =>
  model.price && writesText(model) ? Number(model.price.output_usd) : null;

const writesText = ({ operations }: ModelLine): boolean => operations.includes('chat');

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
    unit: 'per 1M',
    isFigure: true,
    phone: 'more',
    figures: ({ price }) => [price ? priceFigure(price.input_usd) : NONE],
    sort: ({ price }) => price && Number(price.input_usd),
  },
  {
    id: 'output',
    head: 'Output',
    unit: 'per 1M',
    isFigure: true,
    phone: 'more',
    figures: (model) => [model.price && writesText(model) ? priceFigure(model.price.output_usd) : NONE],
    sort: outputPrice,
  },
  {
    id: 'context',
    head: 'Context',
    unit: 'tokens',
    isFigure: true,
    phone: 'more',
    figures: ({ max_input_tokens }) => [figure(max_input_tokens)],
    sort: ({ max_input_tokens }) => max_input_tokens,
  },
  {
    id: 'quality',
    head: 'Quality',
    isFigure: true,
    phone: 'more',
    figures: ({ quality }) => [percent(quality?.default ?? null)],
    sort: ({ quality }) => quality?.default ?? null,
  },
  ...(holders
    ? [
        {
          id: 'who',
          head: 'Who may use it',
          phone: 'more' as const,
          cell: (model: ModelLine) => {
            const text = accessText(model, holders);
            return (
              <span class="fleet-who" title={text}>
                {text}
              </span>
            );
          },
        },
      ]
    : []),
];
