import type { Tariff } from '../../../core/accounting/entry.ts';
import type { EntryKind } from '../../journal-reader.ts';
import { type SpooledRow, type SpooledUnit, spooledRows } from '../../spool/spool.ts';
import type { SqlParam, SqlWrite } from '../../sql/statement.ts';
import type { Journal } from './journal.ts';

/**
 * An operation as the spool keeps it: what was charged, given back or released, by the ID of its hold. It names no row, account
 * or tariff by a number of the process that made it.
 */
export interface SpooledOp {
  /** Of the entry that it makes; `correct` where a hold was settled behind its expiry. */
  readonly kind: EntryKind;
  /** Null for a fee. */
  readonly reservation: number | null;
  /** Microcredits that callers were told. */
  readonly amount: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Of a charge; null where no attempt is known. */
  readonly tariff: Tariff | null;
  /** The tokens of a charge, in the order of the journal's columns, and whether they are estimated. */
  readonly usage: readonly number[];
  readonly note: string | null;
  /** Of a post. */
  readonly step: number | null;
  /** Of a fee. */
  readonly holder: string | null;
}

/** The name under which operations stand in a spool. Other names of the journal are of versions that kept rows. */
export const OPERATION = 'operation';

/** Names under which statements of charges are spooled. */
const CHARGES: ReadonlySet<string> = new Set(['charge', 'noted charge', 'post', 'closing']);

const NO_CHARGE = { tariff: null, usage: [], note: null, step: null, holder: null };

/** The rows of a unit as the spool keeps them: operations, and rows of other rooms. */
export const spooledOps = (writes: readonly SqlWrite[], journal: Pick<Journal, 'tariffOf' | 'accounts'>): SpooledUnit =>
  spooledRows(writes).flatMap((row): SpooledRow[] => {
    // Each operation states its own price.
    if (row.name === 'tariff') return [];
    const op = opOf(row, journal);
    return [op ? { name: OPERATION, params: [JSON.stringify(op)] } : row];
  });

type ChargeRow = [number, EntryKind, number, number, number, number, number | undefined, ...SqlParam[]];

/** Null for a row of another room. Rows were made by `Journal`, in the order of its columns. */
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

/** The operations of a unit. They were written by this room, behind a checksum. */
export const opsOf = (unit: SpooledUnit): SpooledOp[] =>
  unit.flatMap(({ name, params }) => (name === OPERATION ? [JSON.parse(String(params[0])) as SpooledOp] : []));
