import { timeOfId } from '../../../core/id.ts';
import { isAddress } from '../../../core/money/holder-address.ts';
import { creditsText } from '../../../core/text/text.ts';
import type { Audit, AuditFinding, OpenAtEnd } from '../../../ledger/audit/audit.ts';
import { decisionOf, findingsOf, heldOf } from '../../use-cases/ledger/audit.ts';
import { count } from '../text.ts';

/** The most findings, and the most open holds, that a report lists. */
const SHOWN_MAX = 50;

/** Names the key or wallet that holds a balance. */
export const holderText = (holder: string): string => `${isAddress(holder) ? 'wallet' : 'key'} ${holder}`;

/** Writes a line with the number of rows that were read, and whether the rows are right. */
export function verdict(audit: Audit): string {
  const found = findingsOf(audit);
  const parts = [
    count(audit.totals.entries, 'entry', 'entries'),
    count(audit.reservations, 'hold'),
    `${audit.open.size.toLocaleString('en')} open (${creditsText(heldOf(audit))} held)`,
    count(audit.funds, 'fund'),
  ];
  return `${parts.join(', ')}: ${found === 0 ? 'nothing wrong' : count(found, 'finding')}`;
}

/** Writes the audit report for people. */
export function auditText(audit: Audit, now: number): string {
  const { unpriced, totals, payments } = audit;
  const lines = [verdict(audit)];
  if (totals.overrun > 0)
    lines.push(
      `Providers billed ${creditsText(totals.overrun)} more than was held. No key was charged for this amount.`,
    );
  if (payments.totals.deposited > 0)
    lines.push(
      `Wallets paid in ${creditsText(payments.totals.deposited)}, of which ${creditsText(payments.totals.fees)} were kept as fees.`,
    );
  if (unpriced > 0) lines.push(`${count(unpriced, 'charge')} had no price or an impossible token count.`);
  const open = [...audit.open.values()].map((one) => openLine(one, now));
  if (open.length > 0) lines.push('', 'Open holds:', ...shown(open, open.length));
  if (audit.findings.length > 0) {
    const all = audit.findings.slice(0, SHOWN_MAX).map(findingLine);
    lines.push('', 'Findings, in microcredits:', ...shown(all, findingsOf(audit)));
  }
  return `${lines.join('\n')}\n`;
}

function shown(lines: readonly string[], count: number): string[] {
  const first = lines.slice(0, SHOWN_MAX).map((line) => `  ${line}`);
  const rest = count - first.length;
  return rest > 0 ? [...first, `  and ${rest.toLocaleString('en')} more`] : first;
}

function openLine(open: OpenAtEnd, now: number): string {
  const age = Math.max(0, Math.round((now - timeOfId(open.reservation)) / 1_000));
  const figures = `${creditsText(open.reserved)} reserved, ${creditsText(open.charged)} charged`;
  return `${decisionOf(open.reservation)}  ${holderText(open.keyId ?? '?')}, ${figures}, for ${age.toLocaleString('en')} s`;
}

function findingLine({ kind, seq, reservation, message }: AuditFinding): string {
  const places = [seq === null ? null : `row ${seq}`, decisionOf(reservation)].filter((place) => place !== null);
  return `${[...places, kind].join('  ')}: ${message}`;
}
