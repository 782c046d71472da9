import type { ComponentChildren } from 'preact';
import { OPERATIONS, TEXT_OPERATIONS } from '../../../core/kinds/operations.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Card } from '../../design/card.tsx';
import { FigureTable } from '../../design/figure-table.tsx';
import { figure, NONE, percent, plural, span, usd } from '../../design/format.ts';
import { Empty, Loaded, Partial } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { creditsText, moneyFigure, When } from '../../design/written.tsx';
import { columnsOf } from '../../kit/columns.tsx';
import { Figures, type ViewFigure } from '../../kit/figures.tsx';
import { Facts } from '../../kit/show.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import type { DecisionRead } from './decision-read.ts';
import { listHref } from './list.tsx';

type CacheReport = ReadOf<'/admin/cache'>;
type Row = CacheReport['data'][number];
type Skip = CacheReport['skipped'][number]['reason'];

/** Why the cache did not apply. */
const REASONS: Readonly<Record<Skip, string>> = {
  sampled: 'Neither a temperature of 0 nor a seed',
  condition: 'The condition of the policy is false',
  unrepeatable: 'Tools of a provider, or stored conversations',
  no_store: 'Header cache-control: no-store',
  wallet: 'Paid by a wallet',
  playground: 'From the playground',
  no_team: 'The key has no team',
};

const RESULTS: Readonly<Record<string, string>> = {
  hit: 'Answered from the cache',
  partial: 'Some inputs from the cache',
  miss: 'Answered by a model, and could be stored',
};

/** The result of the cache for a request; nothing if the policy has no cache. */
export function cacheText({ outcome }: Pick<DecisionRead, 'outcome'>): ComponentChildren {
  const word = outcome?.cache ?? null;
  if (word === null) return null;
  return RESULTS[word] ?? `Not used: ${(REASONS as Readonly<Record<string, string>>)[word] ?? word}`;
}

const appliedOf = ({ hits, partial, misses }: Pick<Row, 'hits' | 'partial' | 'misses'>): number =>
  hits + partial + misses;

const skippedOf = ({ skipped }: CacheReport): number => skipped.reduce((sum, { requests }) => sum + requests, 0);

/** Writes a size: `812 KiB`, `12.5 MiB`. */
function size(bytes: number): string {
  const [unit, name] =
    bytes < 1_048_576 ? [1_024, 'KiB'] : bytes < 1_073_741_824 ? [1_048_576, 'MiB'] : [1_073_741_824, 'GiB'];
  return figure(bytes / unit, name).short;
}

const FIGURES: readonly ViewFigure<CacheReport>[] = [
  {
    label: 'Hit share',
    value: ({ hit_share }) => percent(hit_share),
    notes: (report) => [`${figure(report.hits).short} of ${plural(appliedOf(report), 'request')}`],
  },
  {
    label: 'Saved',
    value: ({ saved_usd, saved_credits }) => moneyFigure({ usd: saved_usd, credits: saved_credits }),
    notes: ({ saved_credits, charged_credits, charged_usd }) => [
      creditsText(saved_credits),
      charged_credits > 0 && `after ${usd(charged_usd).short} for hits`,
    ],
  },
  {
    label: 'Not cacheable',
    value: (report) => figure(skippedOf(report)),
    notes: ({ requests }) => [`of ${plural(requests, 'request')}`],
  },
];

/** The answers that are stored now. Only a viewer who may see all keys sees them. */
const STORED: ViewFigure<CacheReport> = {
  label: 'Stored answers',
  value: ({ stored }) => (stored ? figure(stored.answers) : NONE),
  notes: ({ stored, settings }) =>
    stored
      ? [
          `${size(stored.bytes)}${settings ? ` of ${size(settings.bytes_max)}` : ''}, now`,
          stored.oldest_at !== null && (
            <>
              oldest <When at={stored.oldest_at} />
            </>
          ),
        ]
      : [],
};

interface CacheProps {
  readonly period: { readonly from: string | null; readonly to: string | null };
}

/** Hits, misses and savings of the cache in the period, by model and key, and what it stores now. */
export function Cache({ period }: CacheProps) {
  const cache = useResource('/admin/cache', { ...period });
  const figures = reachOfViewer('decisions.list') === 'all' ? [...FIGURES, STORED] : FIGURES;
  const isUnused = cache.data !== null && isEmpty(cache.data);
  return (
    <>
      {!isUnused && <Figures of={cache} figures={figures} />}
      <Loaded what="Figures of the cache" of={cache}>
        {(report) => (isEmpty(report) ? <NoCache /> : <Report report={report} />)}
      </Loaded>
    </>
  );
}

/** Whether the policy has no cache, and had none in the period. */
const isEmpty = ({ settings, data, skipped }: CacheReport): boolean =>
  settings === null && data.length === 0 && skipped.length === 0;

const NoCache = () => (
  <Empty title="The policy has no cache">
    Add the section <code>cache</code> to the policy. An equal request then gets the same answer again without a model,
    and this page shows the hits and what they save.
  </Empty>
);

function Report({ report }: { readonly report: CacheReport }) {
  const { counted_from, requests, data, settings } = report;
  const keys = data.filter(({ by }) => by === 'key');
  return (
    <>
      {counted_from !== null && (
        <Partial>
          The period has more requests than Signalbox counts at once. These are the newest {figure(requests).short},
          since <When at={counted_from} />.
        </Partial>
      )}
      <Rows
        id="requests-cache-models"
        heading={headingOf(report)}
        head="Model"
        rows={data.filter(({ by }) => by === 'model')}
      />
      <Rows id="requests-cache-keys" heading={keysHeading(keys)} head="Key" rows={keys} />
      <Skipped report={report} />
      {settings && <Settings settings={settings} />}
    </>
  );
}

/** A sentence about the share of hits. */
function headingOf(report: CacheReport): string {
  const applied = appliedOf(report);
  if (applied === 0) return `The cache applied to none of ${plural(report.requests, 'request')}`;
  return `The cache answered ${figure(report.hits).short} of the ${plural(applied, 'request')} that it applies to`;
}

/** A sentence about the key that saved the most. */
function keysHeading(keys: readonly Row[]): string {
  const [most] = keys.toSorted((one, other) => other.saved_credits - one.saved_credits);
  if (!most || most.saved_credits <= 0) return 'No key has saved anything';
  return `${nameOf(most)} saved the most: ${usd(most.saved_usd).short}`;
}

const nameOf = ({ model, key_name, key_id }: Row): string => model ?? key_name ?? key_id ?? 'Unknown';

interface RowsProps {
  readonly id: string;
  readonly heading: string;
  readonly head: string;
  readonly rows: readonly Row[];
}

const Rows = ({ id, heading, head, rows }: RowsProps) => (
  <Card id={id} heading={heading}>
    {rows.length > 0 && (
      <Table<Row>
        label={`The cache by ${head.toLowerCase()}`}
        rows={rows}
        keyOf={(row) => row.model ?? row.key_id ?? row.key_name ?? ''}
        hrefOf={(row) => listHref(row.model === null ? { key: row.key_id ?? row.key_name } : { model: row.model })}
        columns={columnsOf<Row>([
          { head, name: nameOf },
          { head: 'Hits', count: ({ hits }) => hits },
          ...(rows.some(({ partial }) => partial > 0)
            ? [{ head: 'Partial', count: ({ partial }: Row) => partial }]
            : []),
          { head: 'Misses', count: ({ misses }) => misses },
          {
            head: 'Hit share',
            figure: ({ hit_share }) => percent(hit_share),
            sort: ({ hit_share }) => hit_share,
            phone: 'fact',
          },
          {
            head: 'Saved',
            money: ({ saved_usd, saved_credits }) => ({ usd: saved_usd, credits: saved_credits }),
            phone: 'second',
          },
        ])}
      />
    )}
  </Card>
);

/** Why the cache did not apply to requests. */
function Skipped({ report }: { readonly report: CacheReport }) {
  const { skipped } = report;
  if (skipped.length === 0) return null;
  const sum = skippedOf(report);
  return (
    <Card id="requests-cache-skipped" heading={`The cache did not apply to ${plural(sum, 'request')}`}>
      <div class="requests-reasons">
        <FigureTable
          label="Why the cache did not apply"
          heads={['Reason', 'Requests', 'Share']}
          rows={skipped.map(({ reason, requests }) => ({
            name: REASONS[reason],
            cells: [figure(requests), percent(requests / sum)],
          }))}
        />
      </div>
    </Card>
  );
}

const PARTITIONS = {
  key: 'Each key has its own',
  team: 'Keys of a team with equal rights share them',
  everyone: 'All keys with equal rights share them',
} as const;

const UNSAMPLED = `Requests with a temperature of 0 or a seed, and ${TEXT_OPERATIONS.map((name) => OPERATIONS[name].serves).join(' and ')}`;

const Settings = ({ settings }: { readonly settings: NonNullable<CacheReport['settings']> }) => (
  <Card id="requests-cache-settings" heading="Settings of the policy">
    <Facts
      of={settings}
      facts={[
        ['Answers', ({ partition }) => PARTITIONS[partition]],
        ['Used for', ({ ttl_seconds }) => span(ttl_seconds * 1_000)],
        [
          'Applies to',
          ({ sampled, is_conditional }) =>
            `${sampled ? 'All requests' : UNSAMPLED}${is_conditional ? ', if the condition holds' : ''}`,
        ],
        ['Price of a hit', ({ price_credits }) => (price_credits === 0 ? 'None' : creditsText(price_credits))],
      ]}
    />
  </Card>
);
