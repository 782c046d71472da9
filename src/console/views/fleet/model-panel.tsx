import type { ComponentChildren } from 'preact';
import { inColumn } from '../../design/column.ts';
import { figure, percent, price, type WrittenFigure } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Table } from '../../design/table.tsx';
import { Written } from '../../design/written.tsx';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import {
  accessOf,
  accessText,
  isWildcard,
  type ModelHolder,
  type ModelHolders,
  type ModelLine,
} from './model-access.ts';

interface ModelPanelProps {
  readonly model: ModelLine;
  /** Other names that requests may send for it. */
  readonly aliases: readonly string[];
  /** Null for a role that sees no keys. */
  readonly holders: ModelHolders | null;
}

/** One model: its price, what it can do, its quality by task, and who may use it. */
export function ModelPanel({ model, aliases, holders }: ModelPanelProps) {
  const { id, owned_by, max_input_tokens, max_tokens, operations, abilities, selectors, pattern } = model;
  const isOfAll = isWildcard(model);
  const unknown = isOfAll ? 'depends on the model' : 'not known';
  return (
    <Panel title={id} closeHref={hrefWith({ open: null })}>
      <div class="stack">
        <dl class="facts">
          <Fact name="Provider">{owned_by}</Fact>
          {aliases.length > 0 && <Fact name="Also called">{aliases.join(', ')}</Fact>}
          {pattern !== null && !isOfAll && <Fact name="Wildcard">{pattern}</Fact>}
          <Prices model={model} />
          <Fact name="Context">
            {max_input_tokens === null ? unknown : `${figure(max_input_tokens).exact} tokens of input and output`}
          </Fact>
          {max_tokens !== null && <Fact name="Longest answer">{figure(max_tokens).exact} tokens</Fact>}
          <Fact name="Is for">{operations.join(', ')}</Fact>
          {isOfAll || <Fact name="Can">{abilities.length === 0 ? 'text alone' : abilities.join(', ')}</Fact>}
          <Fact name="Selectors">
            {selectors.length === 0 ? 'none: requests must name the model' : selectors.join(', ')}
          </Fact>
          {holders && <Fact name="Who may use it">{accessText(model, holders)}</Fact>}
        </dl>
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

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

type Price = NonNullable<ModelLine['price']>;

const ratesOf = ({ input_usd, cached_input_usd, output_usd }: Price | Price['tiers'][number]) => ({
  Input: price(input_usd),
  'Cached input': price(cached_input_usd),
  Output: price(output_usd),
});

/** The price of usual prompts, then of longer ones. All figures have one format. */
function Prices({ model }: { readonly model: ModelLine }) {
  const { price: of } = model;
  if (of === null) return isWildcard(model) ? <Fact name="Price">depends on the model</Fact> : null;
  const tiers = [of, ...of.tiers].map(ratesOf);
  const write = inColumn(tiers.flatMap((rates) => Object.values(rates)));
  const [usual = ratesOf(of), ...longer] = tiers;
  return (
    <>
      {Object.entries(usual).map(([name, rate]) => (
        <Fact key={name} name={name}>
          <Written value={write(rate)} /> <span class="dim">per 1M tokens</span>
        </Fact>
      ))}
      {longer.map((rates, at) => (
        <Fact key={at} name={`Prompts over ${figure(of.tiers[at]?.over_input_tokens ?? null).exact} tokens`}>
          <Tier rates={rates} write={write} />
        </Fact>
      ))}
      {Number(of.per_request_usd) > 0 && (
        <Fact name="Each request">
          <Written value={price(of.per_request_usd)} />
        </Fact>
      )}
      {isWildcard(model) && <Fact name="Applies to">each model that has no other price</Fact>}
    </>
  );
}

interface TierProps {
  readonly rates: Readonly<Record<string, WrittenFigure>>;
  readonly write: ReturnType<typeof inColumn>;
}

/** `$30.00 input, $30.00 cached input, $120.00 output per 1M tokens`. */
const Tier = ({ rates, write }: TierProps) => (
  <>
    {Object.entries(rates).map(([name, rate], at) => (
      <span key={name}>
        {at > 0 && ', '}
        <Written value={write(rate)} /> {name.toLowerCase()}
      </span>
    ))}{' '}
    <span class="dim">per 1M tokens</span>
  </>
);

const PAGES = { team: '/people/teams', member: '/people/members', key: '/people/keys' } as const;

/** The teams, members and keys whose lists name the model, and those whose lists do not. */
function Lists({ model, holders }: { readonly model: ModelLine; readonly holders: ModelHolders }) {
  const { listed, leftOut } = accessOf(model, holders);
  return (
    <dl class="facts">
      {listed.length > 0 && (
        <Fact name="Listed by">
          <HolderLinks of={listed} />
        </Fact>
      )}
      {leftOut.length > 0 && (
        <Fact name="Left out by">
          <HolderLinks of={leftOut} />
        </Fact>
      )}
      {holders.hasMore && <Fact name="Not shown">more keys have lists of their own; People shows each of them</Fact>}
    </dl>
  );
}

const HolderLinks = ({ of }: { readonly of: readonly ModelHolder[] }) => (
  <>
    {of.map(({ kind, id, name }, at) => (
      <span key={`${kind} ${id}`}>
        {at > 0 && ', '}
        {kind} <a href={hrefOf(`${PAGES[kind]}/${id}`)}>{name}</a>
      </span>
    ))}
  </>
);

const BASES = {
  measured: 'The policy says that these figures are measured.',
  guessed: 'The policy says that these figures are guessed.',
  unknown: 'The policy does not state where these figures come from.',
} as const;

function Quality({ quality }: Pick<ModelLine, 'quality'>) {
  if (quality === null) return null;
  const tasks = Object.entries(quality.tasks);
  const rows = [...tasks, [tasks.length === 0 ? 'all tasks' : 'all other tasks', quality.default] as const];
  return (
    <section aria-labelledby="quality">
      <h3 id="quality">It is expected to answer {percent(quality.default).short} of usual requests well.</h3>
      <Table
        label="Quality by task"
        rows={rows}
        keyOf={([task]) => task}
        columns={[
          { id: 'task', head: 'Task', cell: ([task]) => task },
          { id: 'share', head: 'Quality', isFigure: true, phone: 'fact', figures: ([, share]) => [percent(share)] },
        ]}
      />
      <p class="table-foot">{BASES[quality.basis]}</p>
    </section>
  );
}
