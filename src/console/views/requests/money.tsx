import { UNITS } from '../../../core/money/units.ts';
import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { Explained } from '../../design/explained.tsx';
import { type FigureRow, FigureTable } from '../../design/figure-table.tsx';
import { figure, price, usd } from '../../design/format.ts';
import { Loaded } from '../../design/states.tsx';
import type { TermName } from '../../design/terms.ts';
import { type DecisionRead, plainText, sentencesAbout } from './decision-read.ts';

type DecisionMoney = ReadOf<'/admin/decisions/dec_/money'>;
type Entry = DecisionMoney['entries'][number];
type Line = NonNullable<Entry['lines']>[number];

interface MoneyOfRequestProps {
  readonly money: Resource<DecisionMoney>;
  readonly decision: DecisionRead;
}

/** The hold and the charges of a request line by line, and what other models would have cost. */
export const MoneyOfRequest = ({ money, decision }: MoneyOfRequestProps) => (
  <Loaded what="The ledger's entries" of={money}>
    {(known) =>
      known.state === 'none' ? (
        <p class="dim">The ledger has no entry for this request: nothing was held and nothing was charged.</p>
      ) : (
        <>
          <h2>{headingOf(known, decision)}</h2>
          <FigureTable label="Money" heads={['Entry', 'USD', 'Credits']} rows={rowsOf(known, decision)} />
        </>
      )
    }
  </Loaded>
);

/** What the request used and cost; while it runs, what it was charged so far. The table says what it would have cost elsewhere. */
const headingOf = ({ sums: { charged }, state }: DecisionMoney, { sentences, outcome }: DecisionRead): string =>
  outcome === null || state === 'open'
    ? `The request was charged ${usd(charged.usd).short} so far, and its hold is still open.`
    : plainText(sentencesAbout(sentences, 'money').slice(0, 1));

interface MoneyRowOptions {
  readonly note?: string | undefined;
  /** Explains the name. */
  readonly term?: TermName;
  readonly isSum?: boolean;
}

type Amount = Pick<Entry, 'credits'> & { readonly usd: string | null };

const row = (
  what: string,
  { usd: amount, credits }: Amount,
  { note, term, isSum }: MoneyRowOptions = {},
): FigureRow => ({
  name: (
    <>
      {term ? <Explained term={term}>{what}</Explained> : what}
      {note && <span class="small dim"> {note}</span>}
    </>
  ),
  cells: [usd(amount), figure(credits)],
  isSum,
});

function rowsOf({ entries, sums }: DecisionMoney, decision: DecisionRead): readonly FigureRow[] {
  let tranche = 1;
  const rows = entries.flatMap((entry): readonly FigureRow[] => {
    const note = entry.guard === null ? 'before the call' : `before the call of the guard ${entry.guard}`;
    if (entry.kind === 'reserve') return [row('Held', entry, { term: 'held', note })];
    if (entry.kind === 'raise') return [row(`Tranche ${++tranche}`, entry, { note: 'held as the answer grew' })];
    if (entry.kind === 'overrun') return [row('Billed beyond the hold', entry, { note: 'charged to no key' })];
    return chargeRows(entry);
  });
  const { held, charged, released, refunded } = sums;
  return [
    ...rows,
    ...(tranche > 1 ? [row('Held in total', held, { term: 'held', isSum: true })] : []),
    row('Charged', charged, { isSum: true }),
    row('Released', released, { note: 'the rest of the hold' }),
    ...(refunded.credits > 0 ? [row('Refunded', refunded)] : []),
    ...savingRows(decision),
  ];
}

function chargeRows(entry: Entry): readonly FigureRow[] {
  const { lines, kind, guard, model, provider, estimated, credits } = entry;
  const served = model === null ? '' : `${model} at ${provider ?? 'an unknown provider'}`;
  const who = guard === null ? served : `guard ${guard}, ${served}`;
  if (!lines) {
    if (credits === 0) return [];
    return [row(kind === 'expire' ? 'Charged when the hold expired' : 'Charge', entry, { note: who })];
  }
  const note = [kind === 'post' ? `failed attempt, ${who}` : who, estimated ? 'tokens counted here' : '']
    .filter(Boolean)
    .join('; ');
  return lines.map((line, place) =>
    row(line.name === null ? UNITS[line.item].label : `${UNITS[line.item].label} ${line.name}`, line, {
      note: `${unitsOf(line)}${place === 0 ? `, ${note}` : ''}`,
    }),
  );
}

/** Writes a charge: `1,204 tokens at $0.25 a million`. */
function unitsOf({ item, units, rate_usd: rate }: Line): string {
  const each = price(rate).short;
  if (item === 'request') return `at ${each}`;
  if (item === 'tool_use') return `${figure(units).short} uses at ${each}`;
  return `${figure(units).exact} tokens at ${each} a million`;
}

/** The cost of the same tokens on other models. */
function savingRows({ outcome, baseline, runner_up }: DecisionRead): readonly FigureRow[] {
  if (!outcome) return [];
  const { baseline_cost_credits: ofBaseline, runner_up_cost_credits: ofNext, cost_saved_credits: saved } = outcome;
  return [
    ...(ofNext === null
      ? []
      : [
          row(
            'The same tokens on the next best model',
            { credits: ofNext, usd: outcome.runner_up_cost_usd },
            { note: runner_up?.model },
          ),
        ]),
    ...(ofBaseline === null
      ? []
      : [
          row(
            'The same tokens on the baseline model',
            { credits: ofBaseline, usd: outcome.baseline_cost_usd },
            { note: baseline?.model, term: 'baseline' },
          ),
          row(
            saved < 0 ? 'More than on the baseline model' : 'Saved',
            { credits: Math.abs(saved), usd: outcome.saved_usd?.replace('-', '') ?? null },
            { term: 'saved', isSum: true },
          ),
        ]),
  ];
}
