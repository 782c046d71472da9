import type { JournalReader } from '../../store/journal-reader.ts';
import { Audit, NO_CHECKPOINT } from './audit.ts';
import { auditPrices } from './prices.ts';

/** Adds up a journal alone, without the checks of what stands beside it. */
export async function foldJournal(journal: JournalReader): Promise<Audit> {
  const audit = new Audit(NO_CHECKPOINT, journal.lagMs);
  for await (const page of journal.funds()) for (const row of page) audit.fund(row);
  for await (const page of journal.rows()) for (const row of page) audit.add(row);
  return audit;
}

/**
 * Audits a ledger page by page; it must not change meanwhile. Memory grows with the
 * reservations (three numbers each), funds and sums of a quarter of an hour, not with the rows.
 */
export async function auditLedger(journal: JournalReader, { idle }: { idle: boolean }): Promise<Audit> {
  const checkpoint = await journal.checkpoint();
  const begun = checkpoint ? { ...checkpoint, open: checkpoint.open ?? [] } : NO_CHECKPOINT;
  const audit = new Audit(begun, journal.lagMs);
  const damaged = (message: string) => audit.report({ kind: 'damaged', seq: null, reservation: null, message });
  if (!checkpoint) damaged('there is no checkpoint');
  else if (!checkpoint.open) damaged('the list of open reservations of the checkpoint cannot be read');
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
  const { unpriced } = await auditPrices(journal, (finding) => audit.report(finding));
  audit.unpriced = unpriced;
  if (idle) {
    for (const { seq, reservation } of audit.open.values()) {
      audit.report({ kind: 'left_open', seq, reservation, message: 'is open, and nothing is under way' });
    }
  }
  return audit;
}
