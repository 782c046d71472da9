import { type AuditReport, auditReport } from '../admin/use-cases/ledger/audit.ts';
import { type BooksFiles, openSpools, readLedger } from '../admin/use-cases/ledger/reading.ts';
import { messageOf } from '../core/thrown.ts';
import { auditLedger } from '../ledger/audit/run.ts';

/** The most rows in each list of an audit report. */
const ROWS_MAX = 1_000;

export type AuditReply = { readonly report: AuditReport } | { readonly error: string };

/**
 * Audits the books in a worker, outside the event loop: the worker receives one message and sends one message. `audits.ts` starts this
 * worker.
 */
declare const self: {
  onmessage: ((event: { readonly data: BooksFiles }) => void) | null;
  postMessage(reply: AuditReply): void;
};

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ report: await reportOn(data) });
  } catch (error) {
    self.postMessage({ error: messageOf(error) });
  }
};

async function reportOn(files: BooksFiles): Promise<AuditReport> {
  const stateOf = openSpools(files);
  const found = await readLedger(files.file, async (reader) => {
    const spool = await stateOf(reader);
    const audit = await auditLedger(reader.journal, { idle: false });
    return auditReport(audit, spool, Date.now(), ROWS_MAX);
  });
  if (!found) throw new Error('the database has no ledger of this version');
  return found.value;
}
