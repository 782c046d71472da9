import { auditNow } from '../../admin/ledger.ts';
import { auditReport, resultBody } from '../../admin/use-cases/ledger/audit.ts';
import { backUp } from '../../admin/use-cases/ledger/backup.ts';
import { auditOpenings } from '../../admin/use-cases/ledger/openings.ts';
import { readBooks, warnOfSpool } from '../../admin/use-cases/ledger/reading.ts';
import { refund, refundable } from '../../admin/use-cases/ledger/refund.ts';
import { ownersIn } from '../../admin/use-cases/people.ts';
import { notServed } from '../../admin/use-cases/served.ts';
import { StoredPeople, storedSight } from '../../admin/use-cases/stored-names.ts';
import { parseId } from '../../core/id.ts';
import { readAmount } from '../../core/money/amount.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { parseDecimal } from '../../core/money/decimal.ts';
import { creditsText } from '../../core/text/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { auditLedger } from '../../ledger/audit/run.ts';
import type { StoredReservation } from '../../store/ledger-table.ts';
import { needed, onlyOne, parseArguments, parseCreditArguments, parseFlags, SWITCH } from '../arguments.ts';
import type { CommandContext, CommandDefinition, LedgerFiles } from '../command.ts';
import { DATA } from '../command-help.ts';
import type { CommandResult } from '../result.ts';
import { operator } from '../user.ts';
import { auditAtServer, auditOutput, holderText, reportText, verdict } from './audit.ts';
import { parseExport, writeExport } from './export.ts';
import { MOMENT } from './period.ts';

/** `signalbox ledger export` */
export const ledgerExport: CommandDefinition = {
  use: 'for invoices, and for spreadsheets.',
  example: 'ledger export --month last --by key,model --format csv > november.csv',
  usage: `[--month last] [--from T] [--to T] [--time-zone UTC] [--key ID]
[--team ID] [--user ID] [--label K=V]... [--model ID]
[--by day,month,key,team,user,label:NAME,model,provider,selector,session,agent]
[--format csv|json] [--data DIR]`,
  summary: 'Write every charge, or sums of charges, as CSV or JSON.',
  details: `--month is last, this or a month such as 2026-11.
${MOMENT}
The export ends before --to. If you give only --from 2026-11, it covers that month.
--by writes a sum for each group instead of a line for each charge.`,
  run: exportEntries,
};

/** `signalbox ledger audit` */
export const ledgerAudit: CommandDefinition = {
  use: 'after a crash or a failover, or regularly as a control.',
  example: 'ledger audit',
  usage: '[--idle] [--json] [--data DIR]',
  summary: 'Prove from the journal that no budget was overspent and that every sum is right.',
  details: `If a server runs on the data folder, it makes the audit and keeps the result for signalbox doctor.
With --offline, the command reads the database itself. --idle does the same, and also reports open
holds as findings: use it when no request is running.
Exit code: 0 if the ledger is right, 2 if something is wrong.`,
  run: audit,
  served: {
    operation: auditNow,
    // A server always has requests in progress, whose holds are no findings.
    unless: '--idle',
    run: auditAtServer,
  },
};

/** `signalbox ledger refund` */
export const ledgerRefund: CommandDefinition = {
  use: 'when a caller paid for a bad answer.',
  example: 'ledger refund dec_0a4x1wm3zk0 2.50 --note "cut off"',
  usage: 'DECISION [CREDITS] [--note TEXT] [--data DIR]',
  summary: 'Refund the charge of a request, or a part of it.',
  details: `Without CREDITS, the command refunds the whole charge. DECISION is the ID of the request's decision.
A running server has applied the refund when the command returns.
${DATA}`,
  run: refundDecision,
};

/** `signalbox ledger backup` */
export const ledgerBackup: CommandDefinition = {
  use: 'regularly, and before an upgrade.',
  example: 'ledger backup backup.db',
  usage: 'FILE|- [--data DIR]',
  summary: 'Copy the database while servers use it, and audit the copy.',
  details: `With - as FILE, the command writes the copy to the standard output and the result of the audit to the
standard error.
Exit code: 0 if the copied ledger is right, 2 if it is not, 1 if nothing was copied.
${DATA}`,
  run: backup,
};

/** Reads the ledger with its spool files. Throws UsageError if there is no ledger. */
const reading = <T>(
  { tell }: CommandContext,
  files: LedgerFiles,
  read: Parameters<typeof readBooks<T>>[3],
): Promise<T> => readBooks(operator(), files, tell, read);

async function audit(args: readonly string[], command: CommandContext): Promise<CommandResult> {
  const files = await command.books();
  const { json, idle } = parseFlags(args, { json: SWITCH, idle: SWITCH });
  return reading(command, files, async (reader, spool) => {
    const begun = command.now();
    const audit = await auditLedger(reader.journal, { idle, now: begun });
    await auditOpenings(reader, audit);
    const ended = command.now();
    const report = auditReport(audit, { ...spool, ledgerFault: files.ledgerFault }, ended);
    const result = resultBody({ begun, ended, report });
    return auditOutput(result, json === true);
  });
}

async function exportEntries(args: readonly string[], command: CommandContext): Promise<string> {
  const files = await command.books();
  const query = parseExport(args, command.now());
  await reading(command, files, async (reader) => {
    const people = await StoredPeople.of(reader);
    const filter = { ...query.filter, ...ownersIn(people, operator(), query.filter) };
    const names = { nameOf: people.nameOf, sight: storedSight(reader) };
    await writeExport({ ...query, filter }, reader.journal, names, command.write);
  });
  return '';
}

async function backup(args: readonly string[], command: CommandContext): Promise<CommandResult> {
  const files = await command.books();
  const { positionals } = parseArguments(args, {});
  const target = onlyOne(positionals, 'ledger backup needs the name of one file, or - for the standard output.');
  // A container may have no shell with which to copy a file out of the data folder, so the backup can also be piped.
  const isPiped = target === '-';
  const { bytes, audit: result } = await backUp(operator(), files, {
    target: isPiped ? `${files.file}.backup` : target,
    onSpool: (spool) => warnOfSpool(spool, command.tell),
    ...(isPiped && { write: command.write }),
  });
  const size = `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;
  const report = result && auditReport(result, { settlements: 0, fault: null, ledgerFault: null }, command.now());
  const outcome = report ? verdict(report) : 'Not audited: the database has no ledger.';
  const isSound = !report || report.findings_count === 0;
  const text = `Wrote ${isPiped ? 'the backup' : target}, ${size}. ${outcome}\n${isSound ? '' : reportText(report)}`;
  if (isPiped) command.warn(text);
  return { text: isPiped ? '' : text, code: isSound ? 0 : 2 };
}

const REFUND_USAGE =
  'ledger refund needs the ID of one decision and, optionally, the Credits to refund. Without an amount it refunds the whole charge.';

async function refundDecision(args: readonly string[], command: CommandContext): Promise<string> {
  const files = await command.books();
  const { holder: decision, credits, note } = parseCreditArguments(args, REFUND_USAGE);
  const form = `The ID of a decision is dec_ followed by 11 letters and digits, not "${decision}".`;
  const id = needed(parseId('dec_', decision), form);
  const [found, worth] = await reading(command, files, async ({ ledger, journal }) => [
    await ledger.reservation(id),
    await journal.usdPerCredit(),
  ]);
  const booked = needed(found, `The ledger has no charge for ${decision}.`);
  const amount = refundable(decision, booked, credits === null ? null : amountIn(credits, worth));
  const isServed = await refund(operator(), files.file, booked, { amount, note }, command.now());
  if (!isServed) command.tell(`The refund is saved. ${notServed()}`);
  return `Refunded ${creditsText(amount)} of the ${creditsText(booked.charged)} charged for ${decision} (${holderText(booked.keyId)}).
The refund is credited to the budgets whose current window contains the request${paidBy(booked)}.
`;
}

const paidBy = ({ onBalance, payer, keyId }: StoredReservation): string =>
  onBalance ? `, and to the balance of ${holderText(payer ?? keyId)}` : '';

function amountIn(text: string, worth: string | null): Microcredits {
  const amount = readAmount(text, { bare: 'Credits', usdPerCredit: worth === null ? null : parseDecimal(worth) });
  if (typeof amount !== 'number') throw new UsageError(`"${text}" ${amount.problem}`);
  if (amount > 0) return amount;
  throw new UsageError(`The amount to refund must be above 0, such as 25 or $0.02, not "${text}".`);
}
