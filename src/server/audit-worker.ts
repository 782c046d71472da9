import { type AuditReport, auditReport } from '../admin/use-cases/ledger/audit.ts';
import { auditOpenings } from '../admin/use-cases/ledger/openings.ts';
import { openSpools, readLedger } from '../admin/use-cases/ledger/reading.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { messageOf } from '../core/thrown.ts';
import { auditLedger } from '../ledger/audit/run.ts';
import { spoolsOf } from './data.ts';
import { faultIn } from './ledger-note.ts';

/** The most rows in each list of an audit report. */
const ROWS_MAX = 1_000;

/** The folders and the database of a server. */
export type AuditedPlace = Pick<ServeOptions, 'home' | 'data' | 'database'>;

export type AuditReply = { readonly report: AuditReport } | { readonly error: string };

/**
 * Audits the books in a worker, outside the event loop: the worker receives one message and sends one message. `audits.ts` starts this
 * worker.
 */
declare const self: {
  onmessage: ((event: { readonly data: AuditedPlace }) => void) | null;
  postMessage(reply: AuditReply): void;
};

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ report: await reportOn(data) });
  } catch (error) {
    self.postMessage({ error: messageOf(error) });
  }
};

async function reportOn(place: AuditedPlace): Promise<AuditReport> {
  const fault = await faultIn(place);
  const file = place.database;
  const stateOf = openSpools({ file, spools: spoolsOf(place.home) });
  const found = await readLedger(file, async (reader) => {
    const spool = await stateOf(reader);
    const audit = await auditLedger(reader.journal, { idle: false });
    await auditOpenings(reader, audit);
    return auditReport(audit, { ...spool, ledgerFault: fault?.reason ?? null }, Date.now(), ROWS_MAX);
  });
  if (!found) throw new Error('the database has no ledger of this version');
  return found.value;
}
