import type { Tariff } from '../../../core/accounting/entry.ts';
import type { EntryKind } from '../../journal-reader.ts';
import { type SpooledRow, type SpooledUnit, spooledRows } from '../../spool/spool.ts';
import type { SqlParam, SqlWrite } from '../../sql/statement.ts';
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
  /** The tokens of a charge in the order of the journal's columns, and whether they are estimated. */
  readonly usage: readonly number[];
  readonly note: string | null;
  /** The step of a post. */
  readonly step: number | null;
  /** The holder of a fee. */
  readonly holder: string | null;
}

/** The name of operations in a spool. */
export const OPERATION = 'operation';

/** The names under which statements of charges are spooled. */
const CHARGES: ReadonlySet<string> = new Set(['charge', 'noted charge', 'post', 'closing']);

const NO_CHARGE = { tariff: null, usage: [], note: null, step: null, holder: null };

/** Returns the parts of a unit that the spool keeps: operations instead of journal rows, and rows of other tables. */
export const spooledOps = (writes: readonly SqlWrite[], journal: Pick<Journal, 'tariffOf' | 'accounts'>): SpooledUnit =>
  spooledRows(writes).flatMap((row): SpooledRow[] => {
    // Tariff rows are left out, because each operation contains its own price.
    if (row.name === 'tariff') return [];
    const op = opOf(row, journal);
    return [op ? { name: OPERATION, params: [JSON.stringify(op)] } : row];
  });

type ChargeRow = [number, EntryKind, number, number, number, number, number | undefined, ...SqlParam[]];

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
  const [, kind, reservation, , amount, at, number, ...rest] = params as ChargeRow;
  const tariff = number === undefined ? null : journal.tariffOf(number);
  const [note, step] = [rest[6] ?? null, rest[7] ?? null] as [string | null, number | null];
  return { kind, reservation, amount, at, tariff, usage: rest.slice(0, 6) as number[], note, step, holder: null };
}

/** Returns the operations of a unit. They need no check, because this file's code wrote them, and a checksum protects them. */
export const opsOf = (unit: SpooledUnit): SpooledOp[] =>
  unit.flatMap(({ name, params }) => (name === OPERATION ? [JSON.parse(String(params[0])) as SpooledOp] : []));
