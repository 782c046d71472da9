import { DAY_MS } from '../../../core/time/clock.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { Bill } from '../../../ledger/reconcile/bill-files.ts';
import type { Picodollars } from '../../../ledger/reconcile/billed.ts';
import { type BookedCharge, bookedCharges } from '../../../ledger/reconcile/booked.ts';
import { Comparison, type Difference } from '../../../ledger/reconcile/compare.ts';
import type { JournalReader } from '../../../store/journal-reader.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** What is compared with a bill. */
interface ReconcileTerms {
  /** The provider's name in the policy; null for the name of the provider that wrote the bill. */
  readonly provider: string | null;
  /** The project, workspace or API key that only the gateway uses; null if it is not known. */
  readonly account: string | null;
}

/** The comparison of a bill with the books. */
export interface Reconciliation {
  readonly provider: string;
  /** The first and the last day of the bill, in UTC. */
  readonly from: string;
  readonly to: string;
  readonly differences: readonly Difference[];
  /** The sums of both sides; `billed` is null if the bill states no cost. */
  readonly billed: Picodollars | null;
  readonly booked: Picodollars;
  /** The number of charges in the books. */
  readonly charges: number;
}

/**
 * Compares bills of one provider with the books, by day in UTC, model and unit.
 * @throws UsageError for bills that do not belong together, and for a provider that the books do not have
 */
export async function reconcileBills(
  by: Principal,
  journal: Pick<JournalReader, 'money' | 'usdPerCredit'>,
  bills: readonly Bill[],
  { provider: named, account }: ReconcileTerms,
): Promise<Reconciliation> {
  checkAction(by.caller, 'ledger.read');
  const [first, ...others] = bills;
  const lines = bills.flatMap((bill) => bill.lines);
  const days = lines.map(({ day }) => day).sort();
  const [from, to] = [days[0], days.at(-1)];
  if (!first || from === undefined || to === undefined) throw new UsageError('The bill has no lines.');
  const other = others.find(({ provider }) => provider !== first.provider);
  if (other)
    throw new UsageError(`The files are bills of ${first.provider} and of ${other.provider}. Compare them one by one.`);
  const provider = named ?? first.provider;
  const comparison = new Comparison(lines, account);
  const seen = new Set<string>();
  const sums = { booked: 0n, charges: 0 };
  for await (const charge of chargesBetween(journal, from, to)) {
    seen.add(charge.provider);
    if (charge.provider !== provider) continue;
    comparison.book(charge);
    sums.charges++;
    for (const { usd } of charge.units.values()) sums.booked += usd;
  }
  if (!seen.has(provider) && seen.size > 0) {
    const names = [...seen].sort().join(', ');
    throw new UsageError(
      `The books have no charge of the provider ${provider} from ${from} to ${to}. Name another one with --provider: ${names}.`,
    );
  }
  // A second reading of a day is rare, and needs no memory for all days.
  const chargesOf = async (model: string, day: string) => {
    const found: BookedCharge['units'][] = [];
    for await (const charge of chargesBetween(journal, day, day)) {
      if (charge.provider === provider && charge.model === model && charge.day === day) found.push(charge.units);
    }
    return found;
  };
  const differences = await comparison.differences(chargesOf);
  const costs = lines.flatMap(({ usd }) => usd ?? []);
  const billed = costs.length === 0 ? null : costs.reduce((sum, usd) => sum + usd, 0n);
  return { provider, from, to, differences, billed, ...sums };
}

const chargesBetween = (journal: Pick<JournalReader, 'money' | 'usdPerCredit'>, from: string, to: string) =>
  bookedCharges(journal, { from: Date.parse(from), to: Date.parse(to) + DAY_MS });
