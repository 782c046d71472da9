import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { inColumn } from '../../design/column.ts';
import { Explained } from '../../design/explained.tsx';
import { figure, price, usd } from '../../design/format.ts';
import { Loaded } from '../../design/states.tsx';
import type { TermName } from '../../design/terms.ts';
import { Written } from '../../design/written.tsx';
import { costWriter } from './costs.ts';
import type { DecisionRead } from './story.ts';

type DecisionMoney = ReadOf<'/admin/decisions/dec_/money'>;
type Entry = DecisionMoney['entries'][number];
type Line = NonNullable<Entry['lines']>[number];

interface MoneyRow {
  readonly id: string;
  readonly what: string;
  /** Explains `what`. */
  readonly term?: TermName | undefined;
  readonly note?: string;
  readonly usd: string | null;
  readonly credits: number;
  readonly isSum?: boolean;
}

const ITEMS: Readonly<Record<Line['item'], string>> = {
  input: 'Input',
  cached_input: 'Cached input',
  cache_write: 'Written to the cache',
  hour_cache: 'Kept for an hour',
  output: 'Output',
  tool: 'Tool',
  request: 'Fee of a request',
};

/** Where the money of a request went, line by line, and what another choice would have cost. */
export const MoneyOfRequest = ({
  money,
  decision,
}: {
  readonly money: Resource<DecisionMoney>;
  readonly decision: DecisionRead;
}) => (
  <Loaded what="The ledger's entries" of={money}>
    {(known) =>
      known.state === 'none' ? (
        <p class="dim">The ledger has no entry for it: nothing was held and nothing charged.</p>
      ) : (
        <>
          <h2>{headingOf(known, decision)}</h2>
          <MoneyTable rows={rowsOf(known, decision)} />
        </>
      )
    }
  </Loaded>
);

function MoneyTable({ rows }: { readonly rows: readonly MoneyRow[] }) {
  const inUsd = inColumn(rows.map((row) => usd(row.usd)));
  const inCredits = inColumn(rows.map((row) => figure(row.credits)));
  return (
    <table class="table requests-money" aria-label="Money">
      <thead>
        <tr>
          <th scope="col">Entry</th>
          <th scope="col" class="is-figure">
            USD
          </th>
          <th scope="col" class="is-figure">
            Credits
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, what, term, note, usd: amount, credits, isSum }) => (
          <tr key={id} class={isSum ? 'requests-sum' : undefined}>
            <th scope="row">
              {term ? <Explained term={term}>{what}</Explained> : what}
              {note && <span class="small dim"> {note}</span>}
            </th>
            <td class="is-figure">
              <Written value={inUsd(usd(amount))} />
            </td>
            <td class="is-figure">
              <Written value={inCredits(figure(credits))} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function headingOf({ sums: { charged }, usd_per_credit, state }: DecisionMoney, { outcome }: DecisionRead): string {
  const write = costWriter(usd_per_credit);
  const begin = `It was charged ${usd(charged.usd).short}`;
  if (state === 'open') return `${begin} so far; its hold is open.`;
  const saved = outcome?.cost_saved_credits ?? 0;
  if (saved === 0 || !outcome || outcome.baseline_cost_credits === null) return `${begin}.`;
  return `${begin}, ${write(Math.abs(saved)).short} ${saved > 0 ? 'less' : 'more'} than on the baseline.`;
}

function rowsOf({ entries, sums, usd_per_credit }: DecisionMoney, decision: DecisionRead): readonly MoneyRow[] {
  let tranche = 1;
  const rows = entries.flatMap((entry, at): readonly MoneyRow[] => {
    const amount = { usd: entry.usd, credits: entry.credits };
    switch (entry.kind) {
      case 'reserve':
        return [{ id: `${at}`, what: 'Held', term: 'held', note: 'before the call', ...amount }];
      case 'raise':
        return [{ id: `${at}`, what: `Tranche ${++tranche}`, note: 'held as the answer grew', ...amount }];
      case 'overrun':
        return [{ id: `${at}`, what: 'Billed beyond the hold', note: 'charged to no key', ...amount }];
      default:
        return chargeRows(entry, at);
    }
  });
  const { held, charged, released, refunded } = sums;
  return [
    ...rows,
    ...(tranche > 1 ? [{ id: 'held', what: 'Held, in all', term: 'held' as const, ...held, isSum: true }] : []),
    { id: 'charged', what: 'Charged', ...charged, isSum: true },
    { id: 'released', what: 'Released', note: 'the rest of the hold', ...released },
    ...(refunded.credits > 0 ? [{ id: 'refunded', what: 'Refunded', ...refunded }] : []),
    ...savingRows(decision, usd_per_credit),
  ];
}

function chargeRows(entry: Entry, at: number): readonly MoneyRow[] {
  const { lines, kind, model, provider, estimated, usd: amount, credits } = entry;
  const who = model === null ? '' : `${model} at ${provider ?? 'an unknown provider'}`;
  if (!lines) {
    if (credits === 0) return [];
    return [
      {
        id: `${at}`,
        what: kind === 'expire' ? 'Charged when the hold expired' : 'Charge',
        note: who,
        usd: amount,
        credits,
      },
    ];
  }
  const note = [kind === 'post' ? `failed attempt, ${who}` : who, estimated ? 'tokens counted here' : '']
    .filter(Boolean)
    .join('; ');
  return lines.map((line, place) => ({
    id: `${at} ${place}`,
    what: line.name === null ? ITEMS[line.item] : `${ITEMS[line.item]} ${line.name}`,
    note: `${unitsOf(line)}${place === 0 ? `, ${note}` : ''}`,
    usd: line.usd,
    credits: line.credits,
  }));
}

/** `1,204 tokens at $0.25 a million`. */
function unitsOf({ item, units, rate_usd: rate }: Line): string {
  const each = price(rate).short;
  if (item === 'request') return `at ${each}`;
  if (item === 'tool') return `${figure(units).short} uses at ${each}`;
  return `${figure(units).exact} tokens at ${each} a million`;
}

/** The same tokens elsewhere. */
function savingRows({ outcome, baseline, runner_up }: DecisionRead, usdPerCredit: string | null): readonly MoneyRow[] {
  if (!outcome) return [];
  const worth = usdPerCredit === null ? null : Number(usdPerCredit);
  const row = (id: string, what: string, credits: number, note = '', term?: TermName): MoneyRow => ({
    ...{ id, what, note, credits, term },
    usd: worth === null ? null : String(credits * worth),
  });
  const { baseline_cost_credits: ofBaseline, runner_up_cost_credits: ofNext, cost_saved_credits: saved } = outcome;
  return [
    ...(ofNext === null ? [] : [row('next', 'The same tokens on the next best', ofNext, runner_up?.model)]),
    ...(ofBaseline === null
      ? []
      : [row('baseline', 'The same tokens on the baseline', ofBaseline, baseline?.model, 'baseline')]),
    ...(ofBaseline === null
      ? []
      : [
          {
            ...row('saved', saved < 0 ? 'More than on the baseline' : 'Saved', Math.abs(saved), '', 'saved'),
            isSum: true,
          },
        ]),
  ];
}
