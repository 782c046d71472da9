import type { Bill } from '../../core/accounting/bill.ts';
import { readPrice } from '../../core/accounting/stored-price.ts';
import type { Price, PriceLine } from '../../core/money/price.ts';
import { type Amounts, unitOf } from '../../core/money/units.ts';
import { iso } from '../../core/time/clock.ts';
import type { JournalReader, PricedRow, WrongCell } from '../../store/journal-reader.ts';
import { Audit, type AuditFinding, NO_CHECKPOINT } from './audit.ts';

/** Adds up a journal, without comparing it with other tables. */
export async function foldJournal(journal: JournalReader): Promise<Audit> {
  const audit = new Audit(NO_CHECKPOINT);
  for await (const page of journal.funds()) for (const row of page) audit.fund(row);
  for await (const page of journal.rows()) for (const row of page) audit.add(row);
  return audit;
}

/**
 * Audits a ledger page by page. The ledger must not change during the audit. Memory grows with the number of reservations (three numbers each),
 * funds and quarters of an hour, not with the number of rows.
 * @param options `idle`: true if no request runs, so that no reservation may be open; `now`: ms since 1970
 */
export async function auditLedger(
  journal: JournalReader,
  { idle, now = Date.now() }: { readonly idle: boolean; readonly now?: number },
): Promise<Audit> {
  const checkpoint = await journal.checkpoint();
  const begun = checkpoint ? { ...checkpoint, open: checkpoint.open ?? [] } : NO_CHECKPOINT;
  const audit = new Audit(begun);
  const damaged = (message: string) => audit.report({ kind: 'damaged', seq: null, reservation: null, message });
  if (!checkpoint) damaged('there is no checkpoint');
  else if (!checkpoint.open) damaged('the checkpoint has an unreadable list of open reservations');
  for (const message of await journal.damages()) damaged(message);
  for await (const page of journal.funds()) for (const row of page) audit.fund(row);
  for await (const page of journal.rows()) for (const row of page) audit.add(row);
  for await (const page of journal.spend()) for (const row of page) audit.spend(row);
  const payments = await journal.payments();
  if (payments) {
    for await (const page of payments) for (const row of page) audit.payments.compare(row);
    audit.payments.finish();
  }
  audit.compareBalances(await journal.balances());
  audit.finish();
  for (const cell of await journal.wrongCells(now)) {
    audit.report({ kind: 'wrong_traffic', seq: null, reservation: null, message: cellText(cell) });
  }
  const { unpriced } = await auditPrices(journal, (finding) => audit.report(finding));
  audit.unpriced = unpriced;
  if (idle) {
    for (const { seq, reservation } of audit.open.values()) {
      audit.report({ kind: 'left_open', seq, reservation, message: 'is open, although no request is running' });
    }
  }
  return audit;
}

function cellText({ step, kind, time, series, cell, journal }: WrongCell): string {
  const which = series === null ? 'all series' : `series "${series.replace('\n', '=')}"`;
  return `traffic by ${kind} of the ${step} ${iso(time)}, ${which}: the cells have ${cell} microcredits, but the journal has ${journal}`;
}

/**
 * Computes every charge again from its stored amounts and the price of its tariff. The charge plus the operator's share must equal the cost, to the
 * microcredit.
 * @returns how many charges could not be computed: charges with an implausible usage, which cost the whole reservation, and charges with an
 * unknown price
 */
async function auditPrices(
  journal: Pick<JournalReader, 'priced'>,
  report: (finding: AuditFinding) => void,
): Promise<{ unpriced: number }> {
  let last: PricedRow | null = null;
  let borne = 0;
  let unpriced = 0;
  const judge = () => {
    if (last === null) return;
    const audited = billIn(last);
    if (audited === null) {
      unpriced++;
      return;
    }
    const { seq, reservation, amount } = last;
    const wrong = (message: string) => report({ kind: 'wrong_cost', seq, reservation, message });
    const cost = costOf(audited);
    const contradiction = contradictionIn(audited);
    if (cost !== BigInt(amount) + BigInt(borne))
      wrong(`charges ${amount} microcredits and leaves ${borne} to the operator, but its tokens cost ${cost}`);
    else if (contradiction !== null) wrong(contradiction);
  };
  for await (const page of journal.priced()) {
    for (const row of page) {
      // The journal row after a charge has the part of the charge's cost that exceeded the reservation.
      if (row.kind === 'overrun') borne += row.amount;
      else {
        judge();
        last = row;
        borne = 0;
      }
    }
  }
  judge();
  return { unpriced };
}

/**
 * @returns the cost of the stored amounts at the price of the tariff, computed in integers and rounded up once
 */
function costOf({ price, bill }: AuditedBill): bigint {
  const { rates } = lineOf(price, bill);
  let sum = 0n;
  for (const { unit, amount } of bill.lines) sum += BigInt(amount) * BigInt(rateIn(rates, unit));
  const divisor = BigInt(price.divisor);
  return (sum + divisor - 1n) / divisor;
}

/** @returns what contradicts the price in a bill: parts that exceed the whole, or other rates; null for nothing */
function contradictionIn({ price, bill }: AuditedBill): string | null {
  const negative = bill.lines.find(({ amount }) => amount < 0);
  if (negative) return `has parts that exceed the whole ${negative.unit}`;
  const line = lineOf(price, bill);
  const other = bill.lines.find(({ unit, rate }) => rate !== rateIn(line.rates, unit));
  if (other)
    return `has the rate ${other.rate} for ${other.unit}, but its price states ${rateIn(line.rates, other.unit)}`;
  const isOfLine = bill.over === line.overInputTokens && bill.divisor === price.divisor;
  return isOfLine ? null : 'has a bill that was not made by the line of its price';
}

/** A bill with the price of its tariff. */
interface AuditedBill {
  readonly price: Price;
  readonly bill: Bill;
}

/** @returns null for a bill without tokens, which replaces an implausible usage, and for an unknown price */
function billIn({ price: text, bill }: PricedRow): AuditedBill | null {
  const price = readPrice(text);
  return price && bill && (bill.input > 0 || bill.output > 0) ? { price, bill } : null;
}

const lineOf = ({ lines }: Price, { input }: Bill): PriceLine =>
  [...lines].reverse().find(({ overInputTokens }) => input > overInputTokens) ?? lines[0];

const rateIn = (rates: Amounts, unit: string): number => rates[unit] ?? rates[unitOf(unit)?.rateOf ?? unit] ?? 0;
