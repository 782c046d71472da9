import { addOnPairs } from '../../core/money/price.ts';
import { iso } from '../../core/time/clock.ts';
import type { JournalReader, PricedRow, WrongCell } from '../../store/journal-reader.ts';
import { readAddOns, readPrice, sumOf } from '../export/price.ts';
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
 * Computes every charge again from its stored tokens and price. The charge plus the operator's share must equal the cost, to the
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
    const cost = last && costOf(last);
    if (last === null) return;
    if (cost === null) unpriced++;
    else if (cost !== BigInt(last.amount) + BigInt(borne)) {
      const message = `charges ${last.amount} microcredits and leaves ${borne} to the operator, but its tokens cost ${cost}`;
      report({ kind: 'wrong_cost', seq: last.seq, reservation: last.reservation, message });
    }
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

/** @returns the cost, computed in integers and rounded up once, or null if it cannot be computed */
function costOf({ price: text, input, cached, written, output, addOns: beside }: PricedRow): bigint | null {
  const price = readPrice(text);
  if (!price || (input === 0 && output === 0)) return null;
  const addOns = readAddOns(beside);
  const line = [...price.lines].reverse().find(({ overInputTokens }) => input > overInputTokens) ?? price.lines[0];
  const sum =
    BigInt(price.perRequest) +
    BigInt(input - cached - written) * BigInt(line.input) +
    BigInt(cached) * BigInt(line.cachedInput) +
    BigInt(written) * BigInt(line.cacheWrite) +
    BigInt(output) * BigInt(line.output) +
    (addOns ? sumOf(addOnPairs(price, line, addOns)) : 0n);
  const divisor = BigInt(price.divisor);
  return (sum + divisor - 1n) / divisor;
}
