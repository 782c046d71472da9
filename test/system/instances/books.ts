import { addressOf } from '../../../src/store/postgres/address.ts';
import { postgresRepositories } from '../../../src/store/postgres/repositories.ts';
import { PostgresSnapshot } from '../../../src/store/postgres/snapshot.ts';
import type { Lay } from '../../instances/budgets-law.ts';
import { findingsIn } from '../../instances/ledgers.ts';
import { openBooksOn, sharedLedger } from '../../store/postgres/stage.ts';

/** Two servers that share books in PostgreSQL. */
export const inPostgres: Lay = async () => {
  const ledger = await sharedLedger();
  const opened = [await openBooksOn(ledger, 1), await openBooksOn(ledger, 2)];
  return {
    books: opened.map(({ books }) => books),
    async findings() {
      const snapshot = await PostgresSnapshot.open(addressOf(ledger.url));
      return await findingsIn(postgresRepositories(snapshot, null)).finally(() => snapshot.close());
    },
    async [Symbol.asyncDispose]() {
      for (const { close } of opened) await close();
    },
  };
};
