import type { Repositories } from '../repositories.ts';
import { sqlRepositories } from '../sql/repositories.ts';
import type { SqlTables } from '../sql/statement.ts';
import { postgresRecords } from './records.ts';

/** Those that come with the books. */
type OfTheBooks = 'ledger' | 'journal' | 'traffic';

/** The repositories over one handle of a database. */
export const postgresRepositories = (db: SqlTables): Omit<Repositories, OfTheBooks> => ({
  ...sqlRepositories(db),
  records: postgresRecords(db),
});
