import type { SpooledUnit } from '../spool/spool.ts';
import type { SqlReader, SqlScript, SqlWrite } from '../sql/statement.ts';
import type { Store } from '../store.ts';

export interface SqlStore extends Store, SqlReader {
  /** Reserves room in the spool for the settlements of this many open reservations. Throws StoreError if the disk is full. */
  makeRoom?(reservations: number): void;
  /** Sets how a unit is encoded for the spool. By default, the spool keeps the rows of the unit. */
  spoolAs?(encode: (writes: readonly SqlWrite[]) => SpooledUnit): void;
}

/**
 * The tables of a room, in versions. Each version runs once, in the order of the numbers. The numbers of a room are those of its tables in
 * 0.1, then 20 for 0.2, then one more for each change. Builds that were never released used the other numbers below 20.
 */
export interface Migrations {
  readonly room: string;
  readonly versions: Readonly<Record<number, string>>;
  /** Migration steps that SQL cannot do, by version number. Each step runs after its version, in the same transaction. */
  readonly steps?: Readonly<Record<number, () => SqlScript>>;
}
