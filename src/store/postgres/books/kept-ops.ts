import { currentUsage } from '../../../core/accounting/former.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { LedgerOp, OpResult } from '../../books.ts';
import { type Spool, type SpooledUnit, spooledRows } from '../../spool/spool.ts';
import { type SqlWrite, type Statement, write } from '../../sql/statement.ts';
import { StoreError, type Write } from '../../store.ts';

/** The statement name under which the spool stores operations. */
const OPERATION = 'op';
/**
 * Operations that the spool may store. The callers of these operations get a result at once, and the IDs make it safe to send the
 * operations again.
 */
const KEPT: ReadonlySet<LedgerOp['kind']> = new Set(['post', 'settle', 'waive']);

/** A call in the form that the spool stores. */
export interface KeptCall {
  readonly ops: readonly LedgerOp[];
  readonly also: readonly SqlWrite[];
}

/**
 * Encodes a call for the spool. JSON writes an impossible number, such as NaN, as null. The database also gets null for an impossible
 * number.
 */
const encodeCall = ({ ops, also }: KeptCall): SpooledUnit => [
  ...ops.map((op) => ({ name: OPERATION, params: [JSON.stringify(op)] })),
  ...spooledRows(also),
];

/**
 * Decodes a unit that `encodeCall` has written. The checksum of the spool protects the unit, so no further check is needed.
 * @param statements the statements that a spool may contain, found by the names under which the spool stores the statements
 */
export const decodeCall = (unit: SpooledUnit, statements: readonly Statement[]): KeptCall => ({
  ops: unit.flatMap(({ name, params: [json] }) =>
    name === OPERATION ? [currentOp(JSON.parse(String(json)) as LedgerOp)] : [],
  ),
  also: unit.flatMap(({ name, params }) => {
    const statement = statements.find(({ spooledAs }) => spooledAs === name);
    return statement ? [write(statement, ...params)] : [];
  }),
});

/** An earlier build may have written the operation, with another form of its usage. */
const currentOp = (op: LedgerOp): LedgerOp =>
  (op.kind === 'post' || op.kind === 'settle') && op.entry
    ? { ...op, entry: { ...op.entry, usage: currentUsage(op.entry.usage) } }
    : op;

/** @returns the holds that a spool settles, by ID, each with the cost of its final charge, microcredits */
export const settledBy = (units: readonly SpooledUnit[]): ReadonlyMap<number, Microcredits> =>
  new Map(
    units.flatMap((unit) =>
      decodeCall(unit, []).ops.flatMap((op): [number, number][] =>
        op.kind === 'settle' ? [[op.id, op.entry?.cost ?? 0]] : [],
      ),
    ),
  );

/** Stores operations in the spool of this process while the database does not accept them. State: spool. */
export class KeptOps {
  /** The spool; null until the spool is open. */
  spool: Spool | null = null;
  readonly #onError: (error: StoreError) => void;

  /** @param onError called when a write to the spool fails */
  constructor(onError: (error: StoreError) => void) {
    this.#onError = onError;
  }

  /**
   * Stores operations, as `keep` of `GroupParts` does.
   * @param reckon computes the result of an operation, or null if the result cannot be computed
   * @returns the results, or null if the spool cannot store all operations
   */
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
