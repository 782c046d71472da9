import { parseId } from '../../../core/id.ts';
import { readAmount } from '../../../core/money/amount.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { parseDecimal } from '../../../core/money/decimal.ts';
import { creditsText } from '../../../core/text/text.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { auditLedger } from '../../../ledger/audit/run.ts';
import type { StoreReader } from '../../../store/driver.ts';
import type { StoredReservation } from '../../../store/ledger-table.ts';
import type { OperationHost } from '../../kit/operation.ts';
import type { LedgerServices } from '../../ledger.ts';
import { LEDGER_COMMANDS, type UsageServices } from '../../usage.ts';
import { storedUsdPerCredit } from '../../use-cases/key-funds.ts';
import { auditReport, resultBody } from '../../use-cases/ledger/audit.ts';
import { backUp } from '../../use-cases/ledger/backup.ts';
import { type BooksFiles, readBooks, type SpoolState } from '../../use-cases/ledger/reading.ts';
import { refund, refundable } from '../../use-cases/ledger/refund.ts';
import { storedOverview } from '../../use-cases/ledger/status.ts';
import { ownersIn } from '../../use-cases/people.ts';
import { notServed } from '../../use-cases/served.ts';
import { type HolderNames, learnKeys, storedUsage } from '../../use-cases/usage.ts';
import { groupOf, needed, onlyOne, parseArguments, parseCreditArguments, parseFlags, SWITCH } from '../arguments.ts';
import { commandsOf } from '../operations.ts';
import type { CommandOutput, CommandResult } from '../result.ts';
import { operator } from '../user.ts';
import { auditOutput, holderText, reportText, verdict, waitingText } from './audit.ts';
import { parseExport, writeExport } from './export.ts';
import { StoredPeople, storedSight } from './holders.ts';

/** The inputs of every command on the ledger. */
export interface LedgerCommand extends BooksFiles {
  /** Why the database is not the ledger of the data folder, or which entries it has lost; null if there is no fault. */
  readonly ledgerFault: string | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly write: (text: string | Uint8Array) => Promise<void>;
  /** Writes to the standard error. */
  readonly warn: (text: string) => void;
}

/** Runs `signalbox ledger status|audit|usage|export|backup|refund`. Throws UsageError, or an Error of one sentence. */
export const runLedger = groupOf<LedgerCommand, CommandOutput>('ledger', {
  ...commandsOf(LEDGER_COMMANDS, servicesIn),
  audit,
  export: exportEntries,
  backup,
  refund: refundDecision,
});

/**
 * Reads the ledger, and warns about settlements in spool files that the database does not have yet. Throws UsageError if there is no
 * ledger.
 */
async function reading<T>(
  command: LedgerCommand,
  read: (reader: StoreReader, spool: SpoolState) => Promise<T>,
): Promise<T> {
  const result = await readBooks(operator(), command, (reader, spool) => {
    warnOf(spool, command);
    return read(reader, spool);
  });
  if (result === null)
    throw new UsageError(
      `${command.file} has no ledger of this version yet. Start the server once to create the ledger.`,
    );
  return result.value;
}

function warnOf({ paths, settlements, charged, fault }: SpoolState, { warn }: LedgerCommand): void {
  if (fault !== null) warn(`signalbox: ${fault}\n`);
  if (settlements > 0)
    warn(`signalbox: ${waitingText(settlements, `${paths.join(' and ')} (${creditsText(charged)})`)}\n`);
}

async function audit(args: readonly string[], command: LedgerCommand): Promise<CommandResult> {
  const { json, idle } = parseFlags(args, { json: SWITCH, idle: SWITCH });
  return reading(command, async ({ journal }, spool) => {
    const begun = command.now();
    const audit = await auditLedger(journal, { idle, now: begun });
    const ended = command.now();
    const report = auditReport(audit, { ...spool, ledgerFault: command.ledgerFault }, ended);
    const result = resultBody({ begun, ended, report });
    return auditOutput(result, json === true);
  });
}

async function exportEntries(args: readonly string[], command: LedgerCommand): Promise<string> {
  const query = parseExport(args, command.now());
  await reading(command, async (reader) => {
    const people = await StoredPeople.of(reader);
    const filter = { ...query.filter, ...ownersIn(people, operator(), query.filter) };
    const names = { nameOf: people.nameOf, sight: storedSight(() => reader.keys) };
    await writeExport({ ...query, filter }, reader.journal, names, command.write);
  });
  return '';
}

/** The services for reports on a database. Names of keys, teams and users come from the most recent report. */
function servicesIn(command: LedgerCommand): LedgerServices & UsageServices & OperationHost {
  let nameOf: HolderNames = () => null;
  let keys: Pick<StoreReader['keys'], 'names'> = { names: async () => [] };
  const sight = storedSight(() => keys);
  const readingNames = <T>(read: (reader: StoreReader, people: StoredPeople) => Promise<T>) =>
    reading(command, async (reader) => {
      const people = await StoredPeople.of(reader);
      nameOf = people.nameOf;
      keys = reader.keys;
      return await read(reader, people);
    });
  return {
    usdPerCredit: () => storedUsdPerCredit(command.file),
    sightOf: () => sight,
    namesFor: () => nameOf,
    // The `report` service has already found the people whose names these filters give.
    ownersOf: (_, { team, user }) => ({ ...(team != null && { team }), ...(user != null && { user }) }),
    report: (by, query) =>
      readingNames(async (reader, people) => {
        const report = await storedUsage(by, reader.journal, { ...query, ...ownersIn(people, by, query) });
        await learnKeys(sight, query.by, report.groups);
        return report;
      }),
    overview: (by) =>
      readingNames(async (reader) => {
        const { funds, ...sums } = await storedOverview(by, reader, command.now());
        const named = funds.map((use) => {
          const { subject } = use.title;
          return { ...use, subjectName: nameOf('team', subject) ?? nameOf('user', subject) };
        });
        return { ...sums, funds: named };
      }),
  };
}

async function backup(args: readonly string[], command: LedgerCommand): Promise<CommandResult> {
  const { positionals } = parseArguments(args, {});
  const target = onlyOne(positionals, 'ledger backup needs the name of one file, or - for the standard output.');
  // A container may have no shell with which to copy a file out of the data folder, so the backup can also be piped.
  const isPiped = target === '-';
  const { bytes, audit: result } = await backUp(operator(), command, {
    target: isPiped ? `${command.file}.backup` : target,
    onSpool: (spool) => warnOf(spool, command),
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

async function refundDecision(args: readonly string[], command: LedgerCommand): Promise<string> {
  const { holder: decision, credits, note } = parseCreditArguments(args, REFUND_USAGE);
  const form = `The ID of a decision is dec_ followed by 11 letters and digits, not "${decision}".`;
  const id = needed(parseId('dec_', decision), form);
  const [found, worth] = await reading(command, async ({ ledger, journal }) => [
    await ledger.reservation(id),
    await journal.usdPerCredit(),
  ]);
  const booked = needed(found, `The ledger has no charge for ${decision}.`);
  const amount = refundable(decision, booked, credits === null ? null : amountIn(credits, worth));
  const isServed = await refund(operator(), command.file, booked, { amount, note }, command.now());
  if (!isServed) command.warn(`signalbox: The refund is saved. ${notServed()}\n`);
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
