import type { Repositories } from '../repositories.ts';
import type { Store } from '../store.ts';
import { sqliteRecords } from './records/tables.ts';

/** The repositories over one handle of a database. Of a handle that only reads, none may be asked to prune. */
export const sqliteRepositories = (db: Pick<Store, 'query' | 'commit'>): Repositories => ({
  records: sqliteRecords(db),
});
