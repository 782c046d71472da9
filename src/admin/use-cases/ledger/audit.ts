import { iso } from '../../../core/clock.ts';
import { toCredits } from '../../../core/credits.ts';
import { idText, timeOfId } from '../../../core/id.ts';
import type { Audit, OpenAtEnd } from '../../../ledger/audit/audit.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

export const decisionOf = (reservation: number | null): string | null =>
  reservation === null ? null : idText('dec_', reservation);

const mayCharge = ({ reserved, charged }: OpenAtEnd): number => reserved - charged;
export const heldOf = (audit: Audit): number =>
  [...audit.open.values()].reduce((sum, open) => sum + mayCharge(open), 0);
export const findingsOf = ({ findings, more }: Audit): number => findings.length + more;

/**
 * The figures and findings of an audit for a program.
 * @param spool the settlements that the books lack, and why a spool cannot be read
 * @param now ms since 1970
 * @param rowsMax rows of each list at most
 */
export function auditReport(
  audit: Audit,
  { settlements, fault }: { readonly settlements: number; readonly fault: string | null },
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
  };
}

/** The outcome of an audit. */
export interface AuditResult {
  /** Ms since 1970. */
  readonly begun: number;
  readonly ended: number;
  readonly report: AuditReport;
}

/** The audit as the worker hands it over. */
export type AuditReport = ReturnType<typeof auditReport>;

/** The audits of a running server. */
export interface ServerAudits {
  /** Of the last audit that came to an end; null before it. */
  readonly last: AuditResult | null;
  /** When the audit began that is running, ms since 1970; null for none. */
  readonly runningSince: number | null;
  /** Audits the books, or joins the audit that is running. @throws SignalboxError, by rejecting, where it cannot come to an end */
  run(): Promise<void>;
}

/** The last audit of a running server, and whether one is under way. */
export function lastAudit({ caller }: Principal, audits: ServerAudits) {
  checkAction(caller, 'ledger.audit');
  return auditsBody(audits);
}

/** Audits the books of a running server. @throws SignalboxError, by rejecting */
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

/** `result` of the API's answer, which the command prints. */
export const resultBody = ({ begun, ended, report }: AuditResult) => ({
  began_at: iso(begun),
  ended_at: iso(ended),
  is_sound: report.findings_count === 0 && report.spool_fault === null,
  ...report,
});
