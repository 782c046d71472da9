import type { Microcredits } from '../../../core/credits.ts';
import type { LedgerOp, OpResult } from '../../books.ts';
import { type Spool, type SpooledUnit, spooledRows } from '../../spool/spool.ts';
import { type SqlWrite, type Statement, write } from '../../sql/statement.ts';
import { StoreError, type Write } from '../../store.ts';

/** The name under which operations stand in the spool. */
const OPERATION = 'op';
/** Operations whose results callers are told, and which can be done again by their IDs. */
const KEPT: ReadonlySet<LedgerOp['kind']> = new Set(['post', 'settle', 'waive']);

/** A call as the spool keeps it. */
export interface KeptCall {
  readonly ops: readonly LedgerOp[];
  readonly also: readonly SqlWrite[];
}

/** An impossible number is null in JSON, as in an operation for the database. */
const encodeCall = ({ ops, also }: KeptCall): SpooledUnit => [
  ...ops.map((op) => ({ name: OPERATION, params: [JSON.stringify(op)] })),
  ...spooledRows(also),
];

/** @param statements those that stand in spools by their names. A unit was written by `encodeCall`, behind a checksum. */
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

/** The operations that the database does not take now, in the spool of this process. State: spool. */
export class KeptOps {
  /** Null before it is opened. */
  spool: Spool | null = null;
  readonly #onError: (error: StoreError) => void;

  /** @param onError called when the spool fails */
  constructor(onError: (error: StoreError) => void) {
    this.#onError = onError;
  }

  /** @returns the results of operations that are kept from now on; null where they cannot be. As that of `GroupParts` */
  keep(
    ops: readonly LedgerOp[],
    also: readonly Write[],
    reckon: (op: LedgerOp) => OpResult | null,
  ): readonly OpResult[] | null {
    if (!this.spool || !ops.every(({ kind }) => KEPT.has(kind))) return null;
    const results = ops.map(reckon);
    if (!results.every((result) => result !== null)) return null;
    const unit = encodeCall({ ops, also: also as readonly SqlWrite[] });
    return unit.length === 0 || this.#done((spool) => spool.add([unit])) ? results : null;
  }

  forget(): void {
    this.#done((spool) => spool.clear());
  }

  #done(work: (spool: Spool) => void): boolean {
    try {
      if (this.spool) work(this.spool);
      return this.spool !== null;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#onError(error);
      return false;
    }
  }
}
