import type { RecordTables } from './records.ts';

/** All that lasts, by its kind. What these make of writes is committed by the store that they belong to, together or apart. */
export interface Repositories {
  readonly records: RecordTables;
}
