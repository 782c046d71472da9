import { idText, timeOfId } from '../../../core/id.ts';
import { toCredits } from '../../../core/money/credits.ts';
import { iso } from '../../../core/time/clock.ts';
import type { Audit, OpenAtEnd } from '../../../ledger/audit/audit.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

const decisionOf = (reservation: number | null): string | null =>
  reservation === null ? null : idText('dec_', reservation);

const mayCharge = ({ reserved, charged }: OpenAtEnd): number => reserved - charged;
const heldOf = (audit: Audit): number => [...audit.open.values()].reduce((sum, open) => sum + mayCharge(open), 0);
const findingsOf = ({ findings, more }: Audit): number => findings.length + more;

/** The state of the files around the ledger. */
interface Around {
  /** How many settlements the ledger lacks. */
  readonly settlements: number;
  /** Why a spool cannot be read; null if there is no fault. */
  readonly fault: string | null;
  /** Why the database is not the ledger of the data folder, or ends before an entry that the folder notes; null if there is no fault. */
  readonly ledgerFault: string | null;
}

/**
 * The figures and findings of an audit, as data.
 * @param now ms since 1970
 * @param rowsMax the most rows of each list
 */
export function auditReport(
  audit: Audit,
  { settlements, fault, ledgerFault }: Around,
  now: number,
  rowsMax = Number.POSITIVE_INFINITY,
) {
  const { totals, payments } = audit;
  const open = [...audit.open.values()].slice(0, rowsMax);
  return {
    entries: totals.entries,
    reservations: audit.reservations,
    funds: audit.funds,
    charged_credits: toCredits(totals.charged),
    corrected_credits: toCredits(totals.corrected),
    overrun_credits: toCredits(totals.overrun),
    granted_credits: toCredits(totals.granted),
    deposited_credits: toCredits(payments.totals.deposited),
    fees_credits: toCredits(payments.totals.fees),
    open: audit.open.size,
    held_credits: toCredits(heldOf(audit)),
    open_reservations: open.map((one) => ({
      decision: decisionOf(one.reservation),
      seq: one.seq,
      key_id: one.keyId,
      reserved_credits: toCredits(one.reserved),
      charged_credits: toCredits(one.charged),
      age_ms: now - timeOfId(one.reservation),
    })),
    findings_count: findingsOf(audit),
    findings: audit.findings.slice(0, rowsMax).map(({ reservation, ...one }) => ({
      ...one,
      decision: decisionOf(reservation),
    })),
    unpriced: audit.unpriced,
    settlements_in_spool: settlements,
    spool_fault: fault,
    ledger_fault: ledgerFault,
  };
}

/** The outcome of an audit. */
export interface AuditResult {
  /** Ms since 1970. */
  readonly begun: number;
  readonly ended: number;
  readonly report: AuditReport;
}

/** The audit in the form in which the worker returns it. */
export type AuditReport = ReturnType<typeof auditReport>;

/** Whether an audit found nothing wrong, and the ledger and its files belong together. */
export const isSound = ({ findings_count, spool_fault, ledger_fault }: AuditReport): boolean =>
  findings_count === 0 && spool_fault === null && ledger_fault === null;

/** The audits of a running server. */
export interface ServerAudits {
  /** The last audit that finished; null before the first. */
  readonly last: AuditResult | null;
  /** When the running audit began, ms since 1970; null if no audit is running. */
  readonly runningSince: number | null;
  /** Audits the ledger, or waits for the audit that is already running. Rejects with SignalboxError if the audit cannot finish. */
  run(): Promise<void>;
}

/** Returns the last audit of a running server, and whether an audit is running. */
export function lastAudit({ caller }: Principal, audits: ServerAudits) {
  checkAction(caller, 'ledger.audit');
  return auditsBody(audits);
}

/** Audits the ledger of a running server. Rejects with SignalboxError. */
export async function runAudit({ caller }: Principal, audits: ServerAudits) {
  checkAction(caller, 'ledger.audit');
  await audits.run();
  return auditsBody(audits);
}

const auditsBody = ({ last, runningSince }: ServerAudits) => ({
  object: 'ledger.audit' as const,
  running_since: runningSince === null ? null : iso(runningSince),
  result: last && resultBody(last),
});

/** The member `result` of the API's answer. The command also prints this value. */
export const resultBody = ({ begun, ended, report }: AuditResult) => ({
  began_at: iso(begun),
  ended_at: iso(ended),
  is_sound: isSound(report),
  ...report,
});
