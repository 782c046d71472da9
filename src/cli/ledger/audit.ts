import type { Static } from '@sinclair/typebox';
import { LedgerAudit } from '../../admin/ledger.ts';
import { waitingText } from '../../admin/use-cases/ledger/reading.ts';
import { limitFromCredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { creditsText } from '../../core/text/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { parseFlags, SWITCH } from '../arguments.ts';
import type { Performer } from '../operations.ts';
import type { CommandResult } from '../result.ts';
import { count, jsonText } from '../text.ts';

/** The most findings, and the most open holds, that a report lists. */
const SHOWN_MAX = 50;

/** Names the key or wallet that holds a balance. */
export const holderText = (holder: string): string => `${isAddress(holder) ? 'wallet' : 'key'} ${holder}`;

type PrintedAudit = NonNullable<Static<typeof LedgerAudit>['result']>;
/** An audit without its times. */
type AuditReport = Omit<PrintedAudit, 'began_at' | 'ended_at' | 'is_sound'>;

const amountText = (credits: number): string => creditsText(limitFromCredits(credits));

/** Writes a line with the number of rows that were read, and whether the rows are right. */
export function verdict(report: AuditReport): string {
  const { findings_count: found } = report;
  const parts = [
    count(report.entries, 'entry', 'entries'),
    count(report.reservations, 'hold'),
    `${report.open.toLocaleString('en')} open (${amountText(report.held_credits)} held)`,
    count(report.funds, 'fund'),
  ];
  return `${parts.join(', ')}: ${found === 0 ? 'nothing wrong' : count(found, 'finding')}`;
}

/** Writes the audit report for people. */
export function reportText(report: AuditReport): string {
  const { unpriced } = report;
  const lines = [verdict(report)];
  if (report.overrun_credits > 0)
    lines.push(
      `Providers billed ${amountText(report.overrun_credits)} more than was held. No key was charged for this amount.`,
    );
  if (report.deposited_credits > 0)
    lines.push(
      `Wallets paid in ${amountText(report.deposited_credits)}, of which ${amountText(report.fees_credits)} were kept as fees.`,
    );
  if (unpriced > 0) lines.push(`${count(unpriced, 'charge')} had no price or an impossible token count.`);
  if (report.open > 0)
    lines.push('', 'Open holds:', ...shown(report.open_reservations.slice(0, SHOWN_MAX).map(openLine), report.open));
  if (report.findings_count > 0) {
    const all = report.findings.slice(0, SHOWN_MAX).map(findingLine);
    lines.push('', 'Findings, in microcredits:', ...shown(all, report.findings_count));
  }
  return `${lines.join('\n')}\n`;
}

/** Makes the output of `ledger audit`. */
export const auditOutput = (result: PrintedAudit, json: boolean): CommandResult => ({
  text: json ? jsonText(result) : reportText(result),
  code: result.is_sound ? 0 : 2,
});

const answerCheck = new SchemaCheck(LedgerAudit);

/** Audits the ledger at the running server, which keeps the result for `signalbox doctor`. Rejects with UsageError. */
export async function auditAtServer(
  args: readonly string[],
  perform: Performer,
  warn: (text: string) => void,
): Promise<CommandResult> {
  const { json } = parseFlags(args, { json: SWITCH });
  const answer = await perform('', {});
  if (!answerCheck.accepts(answer) || answer.result === null)
    throw new UsageError('The server runs another version of Signalbox. Add --offline to read its database directly.');
  const { result } = answer;
  for (const fault of [result.ledger_fault, result.spool_fault]) if (fault !== null) warn(fault);
  if (result.settlements_in_spool > 0) warn(waitingText(result.settlements_in_spool, 'the spool of the server'));
  return auditOutput(result, json === true);
}

function shown(lines: readonly string[], count: number): string[] {
  const rest = count - lines.length;
  const first = lines.map((line) => `  ${line}`);
  return rest > 0 ? [...first, `  and ${rest.toLocaleString('en')} more`] : first;
}

function openLine(open: AuditReport['open_reservations'][number]): string {
  const age = Math.max(0, Math.round(open.age_ms / 1_000));
  const figures = `${amountText(open.reserved_credits)} reserved, ${amountText(open.charged_credits)} charged`;
  return `${open.decision}  ${holderText(open.key_id ?? '?')}, ${figures}, for ${age.toLocaleString('en')} s`;
}

function findingLine({ kind, seq, decision, message }: AuditReport['findings'][number]): string {
  const places = [seq === null ? null : `row ${seq}`, decision].filter((place) => place !== null);
  return `${[...places, kind].join('  ')}: ${message}`;
}
