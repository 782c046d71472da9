import { useState } from 'preact/hooks';
import type { TrafficDimension } from '../../../store/traffic.ts';
import { Button } from '../../design/button.tsx';
import { Copy } from '../../design/copy.tsx';
import { Explained } from '../../design/explained.tsx';
import { Select } from '../../design/field.tsx';
import { figure, usd } from '../../design/format.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { creditsText, Written } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { compared, periodBefore } from '../../shell/compared.ts';
import { range } from '../../shell/range.ts';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { mayGroup, reachOfViewer } from '../../shell/session.ts';
import { useTraffic } from '../../shell/traffic.ts';
import { savedFigure, savedLabel } from '../overview/saved.ts';
import { Course, wholeDays } from './course.tsx';
import { ChargesLink } from './dimension-field.tsx';
import { partOf } from './rise.ts';
import {
  type Amount,
  DIMENSION_NAMES,
  daysOf,
  filterOf,
  type Holder,
  hasCourse,
  nameOf,
  noneOf,
  nounOf,
  type SpendDimension,
  type SpenderRow,
  savedOf,
  useSpend,
} from './spend.ts';
import { SpendTable } from './spend-table.tsx';

/**
 * The dimensions by which each dimension can be divided, the most useful first. Tasks are missing, because only decision records have them.
 */
const PARTS: Readonly<Record<string, readonly SpendDimension[]>> = {
  key: ['model', 'provider'],
  team: ['key', 'model', 'user'],
  user: ['key', 'model'],
  model: ['key', 'team', 'provider'],
  provider: ['model', 'key', 'team'],
  task: [],
  label: ['key', 'model', 'team'],
};

const partsOf = (by: SpendDimension): readonly SpendDimension[] =>
  (PARTS[by.startsWith('label:') ? 'label' : by] ?? []).filter((part) => mayGroup('spend', part));

interface SpenderProps {
  readonly holder: Holder;
  /** The row of the spender in the table; null if the table does not contain the spender. */
  readonly row: SpenderRow | null;
}

/** The spend and savings of one key, team, model …, over time and divided by another dimension. */
export function Spender({ holder, row }: SpenderProps) {
  const { by, id } = holder;
  // An empty ID cannot be a filter, so spend without a name is known only from its row.
  const isOwnTraffic = id !== '' && hasCourse(by);
  const isLabel = by.startsWith('label:');
  const only = isOwnTraffic ? { [isLabel ? 'label' : by]: isLabel ? `${by.slice('label:'.length)}=${id}` : id } : {};
  const traffic = useTraffic({
    isCompared: true,
    isWanted: isOwnTraffic,
    only: only as Partial<Record<TrafficDimension, string>>,
  });
  const name = row?.name || id || noneOf(by);
  const sums = traffic.data?.total ?? row;
  return (
    <Panel title={`${nounOf(by)} ${name}`} closeHref={hrefWith({ open: null })}>
      <div class="stack">
        {sums ? (
          <Sums id={(by === 'key' || by === 'team' || by === 'user') && id !== name ? id : ''} sums={sums} />
        ) : (
          !isOwnTraffic && (
            <Empty title="Nothing was charged">
              Neither in {range.value.phrase} nor in the {periodBefore()}.
            </Empty>
          )
        )}
        {isOwnTraffic && (
          <Loaded what="Spend figures" of={traffic}>
            {(report) => <Course report={report} />}
          </Loaded>
        )}
        {partsOf(by).length > 0 && <Parts holder={holder} />}
        <Elsewhere {...holder} />
      </div>
    </Panel>
  );
}

interface SumsProps {
  readonly id: string;
  readonly sums: Pick<SpenderRow, 'whole' | 'before'>;
}

function Sums({ id, sums: { whole, before } }: SumsProps) {
  const saved = savedOf(whole);
  const change = compared(whole.credits, before?.credits ?? null);
  return (
    <>
      <p>
        <b>
          {usd(whole.usd).short} in {range.value.phrase}
          {saved !== null && (
            <>
              , {savedFigure(saved.usd).short} {saved.credits < 0 ? 'more' : 'less'} than the{' '}
              <Explained term="baseline">baseline</Explained>
            </>
          )}
          .
        </b>
        {change === '' ? '' : ` That is ${change}.`}
      </p>
      <Facts
        of={whole}
        facts={[
          ['Spend', bothText],
          ['Before', () => before && bothText(before), '–'],
          [
            <Explained key="saved" term="saved">
              {savedLabel(saved?.credits ?? 0)}
            </Explained>,
            () => saved && bothText({ usd: saved.usd.replace('-', ''), credits: Math.abs(saved.credits) }),
          ],
          ['Requests', () => <Written value={figure(whole.requests)} />],
          ['ID', () => id !== '' && <Copy text={id} label="ID" />],
        ]}
      />
    </>
  );
}

const bothText = ({ usd: amount, credits }: Amount) => (
  <>
    <Written value={usd(amount)} /> <span class="dim">· {creditsText(credits)}</span>
  </>
);

/** The spend of the holder divided by another dimension. */
function Parts({ holder }: Pick<SpenderProps, 'holder'>) {
  const parts = partsOf(holder.by);
  const [part, setPart] = useState<SpendDimension>(parts[0] ?? 'model');
  const spend = useSpend(part, holder);
  return (
    <section aria-labelledby="spender-parts">
      <div class="card-head">
        <h3 id="spender-parts">{spend.data?.counted ? partsSentence(part, spend.data.rows) : `By ${part}`}</h3>
        <Select
          isBare
          label="Split by"
          value={part}
          onValue={(next) => setPart(next)}
          options={parts.map((value) => ({ value, label: `By ${(DIMENSION_NAMES[value] ?? value).toLowerCase()}` }))}
        />
      </div>
      {spend.count ? (
        <Uncounted noun={nounOf(part).toLowerCase()} onCount={spend.count} />
      ) : (
        <Loaded what="Charges" of={spend}>
          {({ rows, source, ...days }) =>
            rows.length === 0 ? (
              <Empty title="Nothing was charged">Choose a longer time.</Empty>
            ) : (
              <>
                <SpendTable isNarrow label={`Its spend by ${part}`} by={part} rows={rows} />
                {source === 'ledger' && <p class="table-foot">{wholeDays(days)}</p>}
              </>
            )
          }
        </Loaded>
      )}
    </section>
  );
}

/** The text that is shown until the viewer requests figures of the ledger. */
const Uncounted = ({ noun, onCount }: { readonly noun: string; readonly onCount: () => void }) => (
  <div class="state">
    <p class="state-title">Charges by {noun} are counted when you click</p>
    <p>The ledger sums them, which takes several seconds with millions of requests.</p>
    <Button onClick={onCount}>Count by {noun}</Button>
  </div>
);

/** Writes a sentence such as "Mostly on claude-mirror-4, 4.2 × what it was." */
function partsSentence(part: SpendDimension, rows: readonly SpenderRow[]): string {
  const most = rows.toSorted((one, other) => other.whole.credits - one.whole.credits)[0];
  if (!most || most.whole.credits === 0) return `Spend by ${part}`;
  const change = partOf(most);
  const beside = change === 'new' ? ', which is new' : change === '' || change === 'same' ? '' : ` (${change})`;
  return `Mostly ${part === 'model' || part === 'provider' ? 'on' : 'by'} ${nameOf(most, part)}${beside}.`;
}

/** The charges of the same key, team, model …, and a link to its requests. */
function Elsewhere({ by, id }: Holder) {
  const isListed = by === 'key' || by === 'team' || by === 'model' || by === 'task';
  const only = filterOf({ by, id });
  return (
    <p class="row">
      {only && <ChargesLink only={only} period={daysOf(range.value, Date.now())} />}
      {isListed && id !== '' && reachOfViewer('decisions.list') !== null && (
        <a href={hrefOf('/requests', { [by]: id })}>Its requests</a>
      )}
    </p>
  );
}
