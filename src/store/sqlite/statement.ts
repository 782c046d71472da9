import type { SpooledUnit } from '../spool/spool.ts';
import type { SqlReader, SqlWrite } from '../sql/statement.ts';
import type { Store } from '../store.ts';

export interface SqlStore extends Store, SqlReader {
  /** Reserves room in the spool for the settlements of this many open reservations. Throws StoreError if the disk is full. */
  makeRoom?(reservations: number): void;
  /** Sets how a unit is encoded for the spool. By default, the spool keeps the rows of the unit. */
  spoolAs?(encode: (writes: readonly SqlWrite[]) => SpooledUnit): void;
}

/** The first version of the tables of each room, and of the PostgreSQL schema. Builds before the first release used the numbers below. */
export const BASELINE = 30;

/** The tables of a room, in versions. Each version runs once, in the order of the numbers. */
export interface Migrations {
  readonly room: string;
  readonly versions: Readonly<Record<number, string>>;
}
