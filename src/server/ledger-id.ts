import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { parseJson } from '../core/object.ts';
import { SchemaCheck } from '../core/schema-check.ts';
import { codeOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { syncFolder, writeAll } from '../store/durable-file.ts';
import { reasonOf } from '../store/reason.ts';

const COUNT = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** A spool as it was noted. `Spool` states when. */
const SpoolNote = Type.Object({
  generation: COUNT,
  /** Whole entries of this generation that are on the disk. */
  entries: COUNT,
  /** When this generation was first in use, ISO 8601; null while it is empty: then its file may be gone. */
  since: Type.Union([Type.String(), Type.Null()]),
});
export type SpoolNote = Readonly<Static<typeof SpoolNote>>;

/**
 * The content of `ledger.id`, which a server keeps outside its database: one JSON text in one sector, which a disk writes whole.
 * The sector is overwritten in its place, for which a full disk has room.
 */
const LedgerFile = Type.Object({
  /** The ledger that is served from the folder. */
  ledger: Type.String(),
  /** An entry of the journal that was durable; later ones may be, too. */
  entry: COUNT,
  /** The spool, as it was noted last; absent where it never was. */
  spool: Type.Optional(SpoolNote),
});
export type LedgerId = Readonly<Omit<Static<typeof LedgerFile>, 'spool'>> & { readonly spool: SpoolNote | null };

const form = new SchemaCheck(LedgerFile);

const BYTES = 512;

export const ledgerIdOf = (data: string): string => join(data, 'ledger.id');

/** Reads the file of a data folder; null where there is none. Throws UsageError for one that is malformed, or cannot be read. */
export function readLedgerId(data: string): LedgerId | null {
  const file = ledgerIdOf(data);
  if (!existsSync(file)) return null;
  const found = parseLedgerId(textIn(file));
  if (found) return found;
  throw new UsageError(
    `${resolve(file)} is damaged. It notes whether signalbox.db and settlements.spool beside it are whole. If both are, delete ledger.id.`,
  );
}

function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`Cannot read ${resolve(file)}: ${reasonOf(cause)}.`);
  }
}

/** Puts a new file in the place of that of a data folder. It is on the disk when this returns. Throws the system's error. */
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
 * Changes members of the file of a data folder, in its place. It is on the disk when this returns. Does nothing where an operator
 * has deleted the file, or put that of another ledger there. Throws the system's error.
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

/** Null for a malformed text. */
function parseLedgerId(text: string): LedgerId | null {
  const found = parseJson(text);
  return form.accepts(found) ? { ...found, spool: found.spool ?? null } : null;
}
