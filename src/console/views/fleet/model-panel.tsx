import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { inColumn } from '../../design/column.ts';
import { figure, percent, price } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Table } from '../../design/table.tsx';
import { When, Written } from '../../design/written.tsx';
import { type Fact, Facts } from '../../kit/show.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';

interface ModelPanelProps {
  readonly model: ModelLine;
  /** Other names that requests may use for the model. */
  readonly aliases: readonly string[];
  /** The holders are null if the role may not see keys. */
  readonly holders: ModelHolders | null;
}

/** Shows a model: its price, abilities, quality by task, and who may use the model. */
export function ModelPanel({ model, aliases, holders }: ModelPanelProps) {
  const { id } = model;
  const isOfAll = isWildcard(model);
  return (
    <Panel title={id} closeHref={hrefWith({ open: null })}>
      <div class="stack">
        <Facts
          of={model}
          facts={[
            ['Provider', 'owned_by'],
            ['Other names', () => aliases.join(', ')],
            ['Wildcard', ({ pattern }) => (isOfAll ? null : pattern)],
            ['Found', ({ found }) => found && <FoundAt found={found} />],
            ...priceFacts(model),
            [
              'Context',
              ({ max_input_tokens: most }) =>
                most !== null && `${figure(most).exact} tokens of input and output together`,
              isOfAll ? 'depends on the model' : 'not known',
            ],
            ['Longest answer', ({ max_tokens: most }) => most !== null && `${figure(most).exact} tokens`],
            ['Is for', 'operations'],
            ['Can', ({ abilities }) => !isOfAll && (abilities.join(', ') || 'text only')],
            ['Selectors', 'selectors', 'none: a request must name the model'],
            ['Who may use it', () => holders && accessText(model, holders)],
          ]}
        />
        {holders && <Lists model={model} holders={holders} />}
        <Quality quality={model.quality} />
        {reachOfViewer('decisions.list') !== null && !isOfAll && (
          <p>
            <a href={hrefOf('/requests', { model: id })}>Requests of {id}</a>
          </p>
        )}
      </div>
    </Panel>
  );
}

/** Where and when Signalbox found the model, and which figures are guesses. */
const FoundAt = ({ found: { provider, since, guessed } }: { readonly found: NonNullable<ModelLine['found']> }) => (
  <>
    at {provider}, <When at={since} />; guessed: {guessed.join(', ')}
  </>
);

type Price = NonNullable<ModelLine['price']>;

const ratesOf = ({ input_usd, cached_input_usd, output_usd }: Price | Price['tiers'][number]) => ({
  Input: price(input_usd),
  'Cached input': price(cached_input_usd),
  Output: price(output_usd),
});

/** The price of ordinary prompts, then the prices of long prompts. All prices in the list have the same format. */
function priceFacts(model: ModelLine): readonly Fact<ModelLine>[] {
  const { price: of } = model;
  if (of === null) return isWildcard(model) ? [['Price', () => 'depends on the model']] : [];
  const write = inColumn([of, ...of.tiers].flatMap((one) => Object.values(ratesOf(one))));
  const unit = <span class="dim">per 1M tokens</span>;
  return [
    ...Object.entries(ratesOf(of)).map(
      ([name, rate]): Fact<ModelLine> => [
        name,
        () => (
          <>
            <Written value={write(rate)} /> {unit}
          </>
        ),
      ],
    ),
    ...of.tiers.map(
      (tier): Fact<ModelLine> => [
        `Prompts over ${figure(tier.over_input_tokens).exact} tokens`,
        () => (
          <>
            {Object.entries(ratesOf(tier)).map(([name, rate], place) => (
              <span key={name}>
                {place > 0 && ', '}
                <Written value={write(rate)} /> {name.toLowerCase()}
              </span>
            ))}{' '}
            {unit}
          </>
        ),
      ],
    ),
    ['Each request', () => Number(of.per_request_usd) > 0 && <Written value={price(of.per_request_usd)} />],
    ['Applies to', () => isWildcard(model) && 'each model that has no price of its own'],
  ];
}

/** The teams, members and keys whose model lists contain the model, and the teams, members and keys whose lists do not contain it. */
function Lists({ model, holders }: { readonly model: ModelLine; readonly holders: ModelHolders }) {
  const { listed, leftOut } = accessOf(model, holders);
  return (
    <Facts
      of={holders}
      facts={[
        ['Listed by', () => listed.length > 0 && <HolderLinks of={listed} />],
        ['Left out by', () => leftOut.length > 0 && <HolderLinks of={leftOut} />],
        ['Not shown', ({ hasMore }) => hasMore && 'More keys have model lists. Open a key in People to see its list.'],
      ]}
    />
  );
}

const HolderLinks = ({ of }: { readonly of: readonly ModelHolder[] }) => (
  <>
    {of.map(({ kind, id, name }, at) => (
      <span key={`${kind} ${id}`}>
        {at > 0 && ', '}
        {kind} <a href={hrefOf(`/people/${kind}s/${id}`)}>{name}</a>
      </span>
    ))}
  </>
);

const BASES = {
  measured: 'The policy says that these figures were measured.',
  guessed: 'The policy says that these figures are guesses.',
  unknown: 'The policy does not state where these figures come from.',
} as const;

function Quality({ quality }: Pick<ModelLine, 'quality'>) {
  if (quality === null) return null;
  const tasks = Object.entries(quality.tasks);
  const rows = [...tasks, [tasks.length === 0 ? 'all tasks' : 'all other tasks', quality.default] as const];
  return (
    <section aria-labelledby="quality">
      <h3 id="quality">
        The policy expects the model to answer {percent(quality.default).short} of usual requests well.
      </h3>
      <Table
        label="Quality by task"
        rows={rows}
        keyOf={([task]) => task}
        columns={[
          { id: 'task', head: 'Task', cell: ([task]) => task },
          { id: 'share', head: 'Quality', phone: 'fact', figure: ([, share]) => percent(share) },
        ]}
      />
      <p class="table-foot">{BASES[quality.basis]}</p>
    </section>
  );
}

export type ModelLine = ReadOf<'/admin/models'>['data'][number];

/** Whether a line represents all models of a wildcard in the policy. */
export const isWildcard = ({ id, pattern }: Pick<ModelLine, 'id' | 'pattern'>): boolean => pattern === id;

/** A key with a model list, or a team or member whose list limits all its keys. */
interface ModelHolder {
  readonly kind: 'team' | 'member' | 'key';
  readonly id: string;
  readonly name: string;
  readonly models: readonly string[];
}

/** The model lists that the viewer may see. */
export interface ModelHolders {
  readonly holders: readonly ModelHolder[];
  /** Whether more lists exist than were read. */
  readonly hasMore: boolean;
}

/** How many lists of each kind are read. If there are more lists, the panel of the model says that. */
const LISTS_MAX = 200;

/** All keys, teams and members with a model list; null while they load, or if the role may not see keys. */
export function useModelHolders(): ModelHolders | null {
  const isWanted = reachOfViewer('keys.read') !== null && reachOfViewer('people.read') !== null;
  const teams = useResource('/admin/teams', { limit: 1_000 }, { isWanted });
  const users = useResource('/admin/users', { limit: 1_000, team: null }, { isWanted });
  const keys = useResource('/admin/keys', { has_models: 'true', state: 'valid', limit: LISTS_MAX }, { isWanted });
  if (!teams.data || !users.data || !keys.data) return null;
  const holdersOf = (kind: ModelHolder['kind'], of: readonly ListOwner[]): readonly ModelHolder[] =>
    of.flatMap(({ id, name, models }) => (models === null ? [] : [{ kind, id, name: name || id, models }]));
  return {
    holders: [
      ...holdersOf('team', teams.data.data),
      ...holdersOf('member', users.data.data),
      ...holdersOf('key', keys.data.data),
    ],
    hasMore: [teams, users, keys].some(({ data }) => data?.has_more),
  };
}

interface ListOwner {
  readonly id: string;
  readonly name: string;
  readonly models: readonly string[] | null;
}

/** Whether a list names the model or its wildcard. */
const isListed = (
  { models }: ModelHolder,
  { id, pattern, found }: Pick<ModelLine, 'id' | 'pattern' | 'found'>,
): boolean => [id, pattern, found && `${found.provider}/*`].some((name) => name !== null && models.includes(name));

/** Divides the lists into lists that contain the model and lists that do not. */
const accessOf = (model: ModelLine, { holders }: ModelHolders) => ({
  listed: holders.filter((holder) => isListed(holder, model)),
  leftOut: holders.filter((holder) => !isListed(holder, model)),
});

const NAMES_SHOWN = 2;

/** Writes who may use the model: `Every key`, or `Every key, but not team search and 2 more`. */
export function accessText(model: ModelLine, known: ModelHolders): string {
  const reach = reachOfViewer('keys.read') ?? 'own';
  const all = { all: 'Every key', team: 'Every key of your team', own: 'Each of your keys' }[reach];
  const { leftOut } = accessOf(model, known);
  if (leftOut.length === 0) return all;
  const named = leftOut.slice(0, NAMES_SHOWN).map(({ kind, name }) => `${kind} ${name}`);
  const more = leftOut.length - named.length;
  return `${all}, but not ${more > 0 ? `${named.join(', ')} and ${more} more` : named.join(' and ')}`;
}
