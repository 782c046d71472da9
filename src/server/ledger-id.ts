import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { parseJson } from '../core/json/object.ts';
import { SchemaCheck } from '../core/schema/check.ts';
import { codeOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { syncFolder, writeAll } from '../store/durable-file.ts';
import { reasonOf } from '../store/reason.ts';

const COUNT = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** The state of the spool as the file notes it. The class `Spool` documents when the server updates this note. */
const SpoolNote = Type.Object({
  generation: COUNT,
  /** The number of complete entries of this generation that are on the disk. */
  entries: COUNT,
  /** When this generation was first used, ISO 8601; null while it is empty, because an empty spool's file may be absent. */
  since: Type.Union([Type.String(), Type.Null()]),
});
export type SpoolNote = Readonly<Static<typeof SpoolNote>>;

/**
 * The content of `ledger.id`, which a server keeps outside its database. `ledger.id` is one JSON text in one sector, because a disk writes
 * a sector completely or not at all. The server overwrites the sector in place, so a full disk cannot prevent the write.
 */
const LedgerFile = Type.Object({
  /** The ledger that this data folder belongs to. */
  ledger: Type.String(),
  /** The number of a journal entry that is durable. Entries after this entry may be durable, too. */
  entry: COUNT,
  /** The latest note of the spool; absent if the spool was never noted. */
  spool: Type.Optional(SpoolNote),
});
export type LedgerId = Readonly<Omit<Static<typeof LedgerFile>, 'spool'>> & { readonly spool: SpoolNote | null };

const form = new SchemaCheck(LedgerFile);

const BYTES = 512;

export const ledgerIdOf = (data: string): string => join(data, 'ledger.id');

/**
 * Reads `ledger.id` of a data folder.
 * @returns null if there is no file
 * @throws UsageError if the file is malformed or cannot be read
 */
export function readLedgerId(data: string): LedgerId | null {
  const file = ledgerIdOf(data);
  if (!existsSync(file)) return null;
  const found = parseLedgerId(textIn(file));
  if (found) return found;
  throw new UsageError(
    `${resolve(file)} is damaged. Signalbox uses it to check that signalbox.db and settlements.spool in the same folder are complete. If both are, delete ledger.id and start again.`,
  );
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`Cannot read ${resolve(file)}: ${reasonOf(cause)}.`);
  }
}

/**
 * Creates `ledger.id` in a data folder, or replaces it. When `createLedgerId` returns, the file is on the disk. `createLedgerId` throws the
 * system's error.
 */
export function createLedgerId(data: string, id: LedgerId): void {
  const file = ledgerIdOf(data);
  const part = `${file}.part`;
  rmSync(part, { force: true });
  const fd = openSync(part, 'wx', 0o600);
  try {
    writeAll(fd, bytesOf(id), 0);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(part, file);
  syncFolder(dirname(file));
}

/**
 * Changes members of `ledger.id` of a data folder, in place. When `changeLedgerId` returns, the file is on the disk. `changeLedgerId` does
 * nothing if an operator has deleted the file, or has replaced it with the file of another ledger. `changeLedgerId` throws the system's
 * error.
 */
export function changeLedgerId(data: string, ledger: string, changes: Partial<LedgerId>): void {
  const fd = openExisting(ledgerIdOf(data));
  if (fd === null) return;
  try {
    const found = parseLedgerId(readFileSync(fd, 'utf8'));
    if (found?.ledger !== ledger) return;
    writeAll(fd, bytesOf({ ...found, ...changes }), 0);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function openExisting(file: string): number | null {
  try {
    return openSync(file, 'r+');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    throw cause;
  }
}

const bytesOf = ({ ledger, entry, spool }: LedgerId): Buffer =>
  Buffer.from(`${JSON.stringify({ ledger, entry, ...(spool && { spool }) }).padEnd(BYTES - 1)}\n`);

/** @returns null for a malformed text */
function parseLedgerId(text: string): LedgerId | null {
  const found = parseJson(text);
  return form.accepts(found) ? { ...found, spool: found.spool ?? null } : null;
}
