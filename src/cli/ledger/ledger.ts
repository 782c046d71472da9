import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { parseId } from '../../core/id.ts';
import { UsageError } from '../../core/usage-error.ts';
import { auditLedger } from '../../ledger/audit/run.ts';
import { storedUsage } from '../../operate/usage.ts';
import { copyStore, openStore, readStore, type StoreReader } from '../../store/open.ts';
import { type Booked, findReservation, refundWrite } from '../../store/sqlite/books/adjust.ts';
import { unbooked } from '../../store/sqlite/books/spooled.ts';
import { hasJournal } from '../../store/sqlite/books/state.ts';
import { SETTLE } from '../../store/sqlite/payments.ts';
import { readSpool } from '../../store/sqlite/spool.ts';
import { StoreError } from '../../store/store.ts';
import { parseArguments, parseFlags, takeNegative } from '../options.ts';
import { creditsText, parseCredits } from '../text.ts';
import { auditJson, auditText, findingsOf, holderText, verdict } from './audit.ts';
import { parseExport, type Writer, writeExport } from './export.ts';
import { parseUsage, usageText } from './usage.ts';

export interface LedgerCommand {
  /** The database, which exists. */
  readonly file: string;
  /** The spool beside it, which may not exist. */
  readonly spool: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly write: Writer;
  /** To the standard error. */
  readonly warn: (text: string) => void;
}

/** What the process ends with: 0 fine, 2 something is wrong with the books. */
export type LedgerCode = 0 | 2;

/** `signalbox ledger audit|usage|export|backup|refund`. Throws UsageError, or an Error of one clear sentence. */
export async function runLedger(args: readonly string[], command: LedgerCommand): Promise<LedgerCode> {
  const [name, ...rest] = args;
  if (name === 'audit') return audit(rest, command);
  if (name === 'export') return exportEntries(rest, command);
  if (name === 'usage') return usage(rest, command);
  if (name === 'backup') return backup(rest, command);
  if (name === 'refund') return refund(rest, command);
  throw new UsageError('ledger takes audit, usage, export, backup or refund. See signalbox help.');
}

/** Reads one moment of the database, beside whoever writes it. Warns where settlements are in the spool that it lacks. */
async function reading<T>(
  { file, spool, warn }: LedgerCommand,
  read: (reader: StoreReader, spool: SpoolNotice) => Promise<T>,
): Promise<T> {
  const noticeOf = spoolNotice(spool);
  const result = await readingKnown(file, async (reader) => {
    const notice = await noticeOf(reader);
    warn(notice.text);
    return read(reader, notice);
  });
  if (result === null) throw new UsageError(`${file} has no ledger of this version yet; start the server once.`);
  return result.value;
}

/** The same; null where there is no ledger, or one of an older version. */
async function readingKnown<T>(file: string, read: (reader: StoreReader) => Promise<T>): Promise<{ value: T } | null> {
  const reader = readStore(file, ['ledger']);
  try {
    return (await hasJournal(reader)) ? { value: await read(reader) } : null;
  } finally {
    reader.close();
  }
}

/** A line about the spool beside a database; empty where the database has all of it. */
interface SpoolNotice {
  readonly text: string;
  /** It cannot be read, or does not fit the database. */
  readonly isDamaged: boolean;
}

/**
 * Reads the spool. The function that it returns makes a warning when a database lacks settlements of it, else an empty text. To be
 * called before the database is opened: settlements that a server books in between are then in the database.
 */
function spoolNotice(spool: string): (reader: StoreReader) => Promise<SpoolNotice> {
  const reading = Promise.try(() => readSpool(spool).units);
  // Looked at with the database.
  reading.catch(() => {});
  return async (reader) => {
    try {
      const { closed, charged } = await unbooked(reader, spool, await reading, [SETTLE]);
      if (closed.length === 0) return { text: '', isDamaged: false };
      const count = closed.length === 1 ? '1 settlement is' : `${closed.length} settlements are`;
      const text = `signalbox: ${count} in ${spool} (${creditsText(charged)}) and not in the database: a running server books them once the database can be written, else the next start does.\n`;
      return { text, isDamaged: false };
    } catch (cause) {
      return { text: `signalbox: ${cause instanceof Error ? cause.message : cause}\n`, isDamaged: true };
    }
  };
}

async function audit(args: readonly string[], command: LedgerCommand): Promise<LedgerCode> {
  const options = { json: { type: 'boolean' }, idle: { type: 'boolean' } } as const;
  const { json, idle = false } = parseFlags(args, options);
  const { now, write } = command;
  const [result, isSpoolDamaged] = await reading(
    command,
    async (reader, spool) => [await auditLedger(reader, { idle }), spool.isDamaged] as const,
  );
  await write(json ? auditJson(result, now()) : auditText(result, now()));
  return findingsOf(result) > 0 || isSpoolDamaged ? 2 : 0;
}

async function exportEntries(args: readonly string[], command: LedgerCommand): Promise<LedgerCode> {
  const asked = parseExport(args);
  await reading(command, (reader) => writeExport(asked, reader, command.write));
  return 0;
}

async function usage(args: readonly string[], command: LedgerCommand): Promise<LedgerCode> {
  const { query, json } = parseUsage(args, command.now());
  const report = await reading(command, (reader) => storedUsage(reader, query));
  await command.write(usageText(report, json));
  return 0;
}

async function backup(args: readonly string[], { file, spool, now, write, warn }: LedgerCommand): Promise<LedgerCode> {
  const { positionals } = parseArguments(args, {});
  const [target] = positionals;
  if (!target || positionals.length > 1) throw new UsageError('ledger backup takes the name of one file.');
  if (existsSync(target)) throw new UsageError(`${target} exists; a backup overwrites nothing.`);
  const part = `${target}.part`;
  if (existsSync(part)) {
    throw new UsageError(`${part} exists: another backup is being written, or one was interrupted; then remove it.`);
  }
  // A newer version's books are refused before anything is written.
  readStore(file, ['ledger']).close();
  const notice = spoolNotice(spool);
  copyStore(file, part);
  try {
    const audited = await readingKnown(part, async (reader) => {
      warn((await notice(reader)).text);
      return auditLedger(reader, { idle: false });
    });
    publish(part, target);
    const size = `${(statSync(target).size / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;
    // Whoever is about to upgrade needs the copy most of all, and must not be sent to start the server first.
    if (!audited) {
      await write(`Wrote ${target}, ${size}. Not audited: its ledger is of an older version, or there is none yet.\n`);
      return 0;
    }
    await write(`Wrote ${target}, ${size}. ${verdict(audited.value)}\n`);
    if (findingsOf(audited.value) === 0) return 0;
    await write(auditText(audited.value, now()));
    return 2;
  } finally {
    rmSync(part, { force: true });
  }
}

/** Unlike a rename, a link never replaces what somebody else has put there meanwhile; not every file system has links. */
function publish(part: string, target: string): void {
  try {
    linkSync(part, target);
  } catch {
    if (existsSync(target)) throw new UsageError(`${target} exists; a backup overwrites nothing.`);
    renameSync(part, target);
  }
}

async function refund(args: readonly string[], command: LedgerCommand): Promise<LedgerCode> {
  const { rest, amount: negative } = takeNegative(args);
  const options = { note: { type: 'string', default: '' } } as const;
  const { values, positionals } = parseArguments(rest, options);
  const [decision, credits = negative, ...more] = positionals;
  if (!decision || more.length > 0 || (negative !== null && credits !== negative)) {
    throw new UsageError('ledger refund takes the ID of one decision, and the Credits to give back unless all.');
  }
  const id = parseId('dec_', decision);
  if (id === null) throw new UsageError(`A decision is written dec_ and 11 letters and digits, not "${decision}".`);
  const booked = await reading(command, (reader) => findReservation(reader, id));
  const amount = refundable(decision, booked, credits);
  await commitRefund(command, booked!, amount, values.note);
  await command.write(
    `Gave back ${creditsText(amount)} of the ${creditsText(booked!.charged)} that ${decision} was charged (${holderText(booked!.keyId)}).
A running server takes it over within a second, else the next start does: into the budgets whose window the request
still counts in, and into the balance that paid for it: ${paidBy(booked!)}.
`,
  );
  return 0;
}

const paidBy = ({ onBalance, payer, keyId }: Booked): string => (onBalance ? holderText(payer ?? keyId) : 'none');

/** How much to give back. Throws UsageError for what cannot be. */
function refundable(decision: string, booked: Booked | null, credits: string | null): number {
  if (!booked) throw new UsageError(`The ledger has no charge of ${decision}.`);
  if (booked.isOpen) throw new UsageError(`${decision} is not closed yet; what it costs is not known.`);
  const left = booked.charged - booked.givenBack;
  const asked = credits === null ? left : parseCredits(credits);
  if (asked === null || (credits !== null && asked <= 0)) {
    throw new UsageError(
      `Credits to give back are written 25 or 2.50, above 0, with at most 6 decimals, not "${credits}".`,
    );
  }
  const given = booked.givenBack > 0 ? `, of which ${creditsText(booked.givenBack)} were given back already` : '';
  if (left <= 0)
    throw new UsageError(`${decision} was charged ${creditsText(booked.charged)}${given}: nothing is left.`);
  if (asked > left) {
    throw new UsageError(
      `${decision} was charged ${creditsText(booked.charged)}${given}: ${creditsText(asked)} is too much.`,
    );
  }
  return asked;
}

async function commitRefund({ file, now }: LedgerCommand, booked: Booked, amount: number, note: string): Promise<void> {
  const store = await openStore(file, { mode: 'beside' });
  try {
    await store.commit([refundWrite(booked, amount, note, now())]);
  } catch (cause) {
    if (!(cause instanceof StoreError && cause.message.includes('NOT NULL'))) throw cause;
    throw new UsageError('Another refund of this decision was asked for at the same moment; look and try again.');
  } finally {
    await store.close();
  }
}
