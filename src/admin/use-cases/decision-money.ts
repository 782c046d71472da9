import type { BillLine } from '../../core/accounting/bill.ts';
import { readPrice } from '../../core/accounting/stored-price.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { type Decimal, parseDecimal } from '../../core/money/decimal.ts';
import { isUnit, toolOf, unitOf } from '../../core/money/units.ts';
import type { RecordReader } from '../../gateway/records/records.ts';
import { visibleRecord } from '../../gateway/request/explain.ts';
import { quotient } from '../../ledger/export/price.ts';
import { hashOf } from '../../policy/runtime/source.ts';
import { HOLD_ENTRIES, type ReservationEntry } from '../../store/journal-reader.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { FULL_SIGHT } from './sight.ts';

/** The services that read the money of a decision. */
export interface MoneySources {
  readonly records: Pick<RecordReader, 'find' | 'findRequest'>;
  readonly store: Pick<Repositories, 'ledger' | 'journal'>;
}

const MILLION = 1_000_000n;

/**
 * Returns the journal entries of one decision, each charge with the lines of its bill, and the sums, in microcredits.
 * @param id `dec_…`
 * @throws SignalboxError `not_found`, also for a decision of another person. Rejects with StoreError.
 */
export async function decisionMoney(
  by: Principal,
  { records, store: { ledger, journal } }: MoneySources,
  id: string,
  sight = FULL_SIGHT,
) {
  const keyIds = await sight.idsWithin(checkAction(by.caller, 'decisions.list'));
  const { id: number, outcome } = await visibleRecord(records, id, keyIds);
  const holdOf = async (hold: number, guard: string | null) => {
    const [entries, booked] = await Promise.all([journal.reservation(hold), ledger.reservation(hold)]);
    return { entries, guard, refunded: booked?.givenBack ?? 0 };
  };
  const [own, usdPerCredit, ...guards] = await Promise.all([
    holdOf(number, null),
    journal.usdPerCredit(),
    ...(outcome?.guardCalls ?? []).map(({ entry, guard }) => holdOf(entry, guard)),
  ]);
  const { entries } = own;
  const worth = usdPerCredit === null ? null : parseDecimal(usdPerCredit);
  return {
    id: number,
    state: entries.length === 0 ? ('none' as const) : stateOf(entries),
    usdPerCredit,
    entries: [own, ...guards].flatMap(({ entries, guard }) =>
      entries.flatMap((entry) => shownEntry(entry, guard, worth)),
    ),
    sums: sumsOf([own, ...guards]),
  };
}

const stateOf = (entries: readonly ReservationEntry[]): 'settled' | 'expired' | 'open' =>
  entries.some(({ kind }) => kind === 'settle')
    ? 'settled'
    : entries.some(({ kind }) => kind === 'expire')
      ? 'expired'
      : 'open';

/** The entries of one hold, with the refunds of its charge. */
interface HoldEntries {
  readonly entries: readonly ReservationEntry[];
  readonly refunded: Microcredits;
}

function sumsOf(holds: readonly HoldEntries[]) {
  const sums = { held: 0, charged: 0, released: 0, overrun: 0, refunded: 0 };
  for (const { entries, refunded } of holds) {
    const sum = (...kinds: readonly ReservationEntry['kind'][]) =>
      entries.reduce((all, { kind, amount }) => (kinds.includes(kind) ? all + amount : all), 0);
    const [held, charged] = [sum('reserve', 'raise'), sum('post', 'settle', 'expire')];
    sums.held += held;
    sums.charged += charged;
    sums.released += stateOf(entries) === 'open' ? 0 : held - charged;
    sums.overrun += sum('overrun');
    sums.refunded += refunded;
  }
  return {
    held: { amount: sums.held },
    charged: { amount: sums.charged },
    released: { amount: sums.released },
    overrun: { amount: sums.overrun },
    refunded: { amount: sums.refunded },
  };
}

function shownEntry(entry: ReservationEntry, guard: string | null, worth: Decimal | null) {
  const kind = HOLD_ENTRIES.find((one) => one === entry.kind);
  if (!kind) return [];
  const { time, amount, model, provider, upstream, bill } = entry;
  const price = entry.price !== null && isCharge(kind) ? readPrice(entry.price) : null;
  return [
    {
      kind,
      guard,
      time,
      amount,
      model,
      provider,
      upstream,
      priceRevision: price && entry.price !== null ? hashOf(entry.price) : null,
      serviceTier: bill?.tier ?? null,
      estimated: price && entry.estimated,
      lines: price && (bill?.lines ?? []).map((line) => shownLine(line, price.divisor, worth)),
    },
  ];
}

const isCharge = (kind: ReservationEntry['kind']): boolean => kind === 'post' || kind === 'settle';

/** The rate divided by the divisor is the price in Credits for a million units. */
function shownLine({ unit, amount, rate }: BillLine, divisor: number, worth: Decimal | null) {
  const over = BigInt(divisor) * 10n ** BigInt(worth?.scale ?? 0);
  const isTokens = unitOf(unit)?.side !== 'beside';
  const exact = BigInt(rate ?? 0);
  const tool = toolOf(unit);
  return {
    item: isUnit(unit) ? unit : ('tool_use' as const),
    name: tool === '' ? null : tool,
    units: amount,
    per: isTokens ? 1_000_000 : 1,
    rateUsd: worth && quotient(exact * worth.digits, isTokens ? over : over * MILLION),
    credits: (amount * Number(exact)) / divisor / 1_000_000,
    usd: worth && quotient(BigInt(amount) * exact * worth.digits, over * MILLION),
  };
}
