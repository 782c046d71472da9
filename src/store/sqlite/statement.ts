import type { SpooledUnit } from '../spool/spool.ts';
import type { SqlReader, SqlScript, SqlWrite } from '../sql/statement.ts';
import type { Store } from '../store.ts';

export interface SqlStore extends Store, SqlReader {
  /** Reserves room in a spool for the settlements of so many open reservations. Throws StoreError when the disk is full. */
  makeRoom?(reservations: number): void;
  /** Sets what the spool keeps of a unit; without it, the rows. */
  spoolAs?(encode: (writes: readonly SqlWrite[]) => SpooledUnit): void;
}

/** The tables of one room, in versions; each runs once, in order. */
export interface Migrations {
  readonly room: string;
  readonly versions: readonly string[];
  /** Done behind a version, in its transaction, where SQL cannot do it: by the number of the version, from 1. */
  readonly steps?: Readonly<Record<number, () => SqlScript>>;
}
