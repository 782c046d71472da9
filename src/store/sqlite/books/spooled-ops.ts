import { BillWriter } from '../../../core/accounting/bill.ts';
import type { Tariff } from '../../../core/accounting/entry.ts';
import { type FormerAddOns, formerUsage } from '../../../core/accounting/former.ts';
import { readPrice } from '../../../core/accounting/stored-price.ts';
import type { EntryKind } from '../../journal-reader.ts';
import { type SpooledRow, type SpooledUnit, spooledRows } from '../../spool/spool.ts';
import type { SqlWrite } from '../../sql/statement.ts';
import type { Journal } from './journal.ts';

/**
 * An operation in the spool: the amount that was charged, refunded or released, by the ID of the hold. A spooled operation contains no
 * number of a row, account or tariff, because these numbers belong to the process that made the operation.
 */
export interface SpooledOp {
  /** The kind of the entry to make; `correct` for a hold that was settled after its expiry. */
  readonly kind: EntryKind;
  /** The ID of the hold; null for a fee. */
  readonly reservation: number | null;
  /** Microcredits as reported to callers. */
  readonly amount: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The tariff of a charge; null if no attempt is known. */
  readonly tariff: Tariff | null;
  /** The bill of a charge as the journal stores it, and whether its tokens are estimated. */
  readonly bill: string | null;
  readonly estimated: number | null;
  readonly note: string | null;
  /** The step of a post. */
  readonly step: number | null;
  /** The holder of a fee. */
  readonly holder: string | null;
}

/** The name of operations in a spool. */
export const OPERATION = 'operation';

/** The names under which statements of charges are spooled. */
const CHARGES: ReadonlySet<string> = new Set(['charge', 'post', 'closing']);

const NO_CHARGE = { tariff: null, bill: null, estimated: null, note: null, step: null, holder: null };

/** Returns the parts of a unit that the spool keeps: operations instead of journal rows, and rows of other tables. */
export const spooledOps = (writes: readonly SqlWrite[], journal: Pick<Journal, 'tariffOf' | 'accounts'>): SpooledUnit =>
  spooledRows(writes).flatMap((row): SpooledRow[] => {
    // Tariff rows are left out, because each operation contains its own price.
    if (row.name === 'tariff') return [];
    const op = opOf(row, journal);
    return [op ? { name: OPERATION, params: [JSON.stringify(op)] } : row];
  });

type ChargeRow = [
  ...[seq: number, kind: EntryKind, reservation: number, account: number, amount: number, at: number],
  ...[number?: number, bill?: string | null, estimated?: number, step?: number],
];

/**
 * Returns the operation of a row; null for a row of other tables. `Journal` made the row, so its values are in the order of the columns.
 */
function opOf({ name, params }: SpooledRow, journal: Pick<Journal, 'tariffOf' | 'accounts'>): SpooledOp | null {
  if (name === 'late') {
    const [, , reservation, , amount, note, at] = params as [string, string, number, number, number, string, number];
    return { ...NO_CHARGE, kind: 'correct', reservation, amount, at, note };
  }
  if (name === 'paid') {
    const [, kind, , account, amount, at, note] = params as [number, EntryKind, null, number, number, number, string];
    return { ...NO_CHARGE, kind, reservation: null, amount, at, note, holder: journal.accounts.holderOf(account) };
  }
  if (!CHARGES.has(name)) return null;
  const [, kind, reservation, , amount, at, number, bill = null, estimated = null, step = null] = params as ChargeRow;
  const tariff = number === undefined ? null : journal.tariffOf(number);
  return { kind, reservation, amount, at, tariff, bill, estimated, note: null, step, holder: null };
}

/** Returns the operations of a unit. They need no check, because this file's code wrote them, and a checksum protects them. */
export const opsOf = (unit: SpooledUnit): SpooledOp[] =>
  unit.flatMap(({ name, params }) => (name === OPERATION ? [readOp(JSON.parse(String(params[0])))] : []));

/** An operation as builds before version 31 of the tables wrote it: the tokens by position, and the add-ons as the note of a charge. */
interface FormerOp extends Omit<SpooledOp, 'bill' | 'estimated'> {
  readonly usage: readonly number[];
}

function readOp(op: SpooledOp | FormerOp): SpooledOp {
  if (!('usage' in op)) return op;
  const { usage, ...rest } = op;
  const { tariff, note, kind } = op;
  if (tariff === null) return { ...rest, bill: null, estimated: null };
  if (kind === 'overrun') return { ...rest, bill: null, estimated: usage[5] ?? null };
  const addOns: FormerAddOns = note === null ? {} : JSON.parse(note);
  const bill = new BillWriter(readPrice(tariff.price)).text(formerUsage(usage, addOns));
  return { ...rest, bill, estimated: usage[5] ?? null, note: null };
}
