import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { LoadedCard } from '../../design/card.tsx';
import { Field } from '../../design/field.tsx';
import { figure, NONE, percent, plural, price as priceFigure } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Empty, Skeleton } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { Dot } from '../../design/tag.tsx';
import { modelsIn } from '../../shell/models.ts';
import { hrefWith, param } from '../../shell/router.ts';
import {
  accessText,
  isWildcard,
  type ModelHolders,
  type ModelLine,
  ModelPanel,
  useModelHolders,
} from './model-panel.tsx';

/** The models that the viewer may use, with the figures to compare them by. */
export function Models() {
  const models = useResource('/admin/models');
  const holders = useModelHolders();
  const [find, setFind] = useState('');
  const open = param('open');
  return (
    <LoadedCard
      id="models"
      what="Models"
      of={models}
      skeleton={<Skeleton rows={8} />}
      heading={({ data }) => headingOf(modelsIn(data))}
      aside={() => (
        <Field isBare type="search" label="Find a model" placeholder="Find a model" value={find} onValue={setFind} />
      )}
    >
      {({ data }) => {
        const lines = modelsIn(data);
        const wanted = find.trim().toLowerCase();
        const shown = lines.filter(({ id, owned_by }) => `${id} ${owned_by}`.toLowerCase().includes(wanted));
        const chosen = lines.find(({ id }) => id === open);
        const aliases = data.filter(({ id, display_name }) => display_name === open && id !== open);
        return (
          <>
            {lines.length === 0 ? (
              <Empty title="You cannot use any model yet">
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
            {chosen && <ModelPanel key={open} model={chosen} aliases={aliases.map(({ id }) => id)} holders={holders} />}
          </>
        );
      }}
    </LoadedCard>
  );
}

function headingOf(lines: readonly ModelLine[]): string {
  if (lines.length === 0) return 'Models';
  const models = lines.filter((line) => !isWildcard(line));
  const wildcards = lines.length - models.length;
  const counts = [models.length > 0 && plural(models.length, 'model'), wildcards > 0 && plural(wildcards, 'wildcard')];
  const [cheapest, next] = models
    .flatMap(({ id, ...model }) => {
      const price = outputPrice(model);
      return price === null ? [] : [{ id, price: Number(price) }];
    })
    .toSorted((one, other) => one.price - other.price);
  const advice = cheapest && next ? `; ${cheapest.id} has the cheapest output tokens` : '';
  return `You can use ${counts.filter(Boolean).join(' and ')}${advice}.`;
}

/** USD per 1M output tokens; null if the model writes no text or the policy states no price. */
const outputPrice = ({ price, operations }: Pick<ModelLine, 'price' | 'operations'>): string | null =>
  price && operations.includes('chat') ? price.output_usd : null;

const columnsOf = (holders: ModelHolders | null): readonly TableColumn<ModelLine>[] => [
  {
    id: 'model',
    head: 'Model',
    cell: ({ id }) => (
      <span class="fleet-model">
        <Dot mark={markOf(id)} />
        <span class="table-name">{id}</span>
      </span>
    ),
    sort: ({ id }) => id,
  },
  { id: 'provider', head: 'Provider', cell: ({ owned_by }) => owned_by, sort: true },
  {
    id: 'input',
    head: 'Input',
    unit: 'per 1M',
    phone: 'more',
    sort: true,
    figure: ({ price }) => (price ? priceFigure(price.input_usd) : NONE),
  },
  {
    id: 'output',
    head: 'Output',
    unit: 'per 1M',
    phone: 'more',
    sort: true,
    figure: (model) => priceFigure(outputPrice(model)),
  },
  {
    id: 'context',
    head: 'Context',
    unit: 'tokens',
    phone: 'more',
    sort: true,
    figure: ({ max_input_tokens }) => figure(max_input_tokens),
  },
  {
    id: 'quality',
    head: 'Quality',
    phone: 'more',
    sort: true,
    figure: ({ quality }) => percent(quality?.default ?? null),
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
