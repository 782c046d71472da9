import type { Repositories } from '../repositories.ts';
import { sqlRepositories } from '../sql/repositories.ts';
import type { SqlTables } from '../sql/statement.ts';
import { postgresRecords } from './records.ts';
import { postgresTraffic } from './traffic.ts';

/** Those that come with the books. */
type OfTheBooks = 'ledger' | 'journal';

/** The repositories over one handle of a database. */
export const postgresRepositories = (db: SqlTables): Omit<Repositories, OfTheBooks> => ({
  ...sqlRepositories(db),
  records: postgresRecords(db),
  traffic: postgresTraffic(db),
});
