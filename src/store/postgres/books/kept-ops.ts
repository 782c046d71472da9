import type { Microcredits } from '../../../core/credits.ts';
import type { LedgerOp } from '../../books.ts';
import { type SpooledUnit, spooledRows } from '../../spool/spool.ts';
import type { SqlWrite, Statement } from '../../sql/statement.ts';
import { write } from '../../sql/statement.ts';

/** The name under which operations stand in the spool. */
const OPERATION = 'op';
/** Operations whose results callers are told, and which can be done again by their IDs. */
const KEPT: ReadonlySet<LedgerOp['kind']> = new Set(['post', 'settle', 'waive']);

/** A call as the spool keeps it. */
export interface KeptCall {
  readonly ops: readonly LedgerOp[];
  readonly also: readonly SqlWrite[];
}

/** Whether the spool can keep operations. */
export const areKept = (ops: readonly LedgerOp[]): boolean => ops.every(({ kind }) => KEPT.has(kind));

/** An impossible number is null in JSON, as in an operation for the database. */
export const encodeCall = ({ ops, also }: KeptCall): SpooledUnit => [
  ...ops.map((op) => ({ name: OPERATION, params: [JSON.stringify(op)] })),
  ...spooledRows(also),
];

/** @param statements those that stand in spools by their names. What a spool has was written by `encodeCall`, behind a checksum. */
export const decodeCall = (unit: SpooledUnit, statements: readonly Statement[]): KeptCall => ({
  ops: unit.flatMap(({ name, params: [json] }) => (name === OPERATION ? [JSON.parse(String(json)) as LedgerOp] : [])),
  also: unit.flatMap(({ name, params }) => {
    const statement = statements.find(({ spooledAs }) => spooledAs === name);
    return statement ? [write(statement, ...params)] : [];
  }),
});

/** The holds that a spool settles, with the last charge of each, microcredits. */
export const settledBy = (units: readonly SpooledUnit[]): ReadonlyMap<number, Microcredits> =>
  new Map(
    units.flatMap((unit) =>
      decodeCall(unit, []).ops.flatMap((op): [number, number][] =>
        op.kind === 'settle' ? [[op.id, op.entry?.cost ?? 0]] : [],
      ),
    ),
  );
