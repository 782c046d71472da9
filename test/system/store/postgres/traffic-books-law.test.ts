import { test } from 'bun:test';
import fc from 'fast-check';
import { handleOf } from '../../../../src/store/postgres/store.ts';
import { postgresTraffic } from '../../../../src/store/postgres/traffic.ts';
import { tries } from '../../../deep/effort.ts';
import { withRepositories } from '../../../store/postgres/opened.ts';
import { openBooksOn, sharedLedger } from '../../../store/postgres/stage.ts';
import { LAW, type Laid, lawOf } from '../../../store/traffic-books-law.ts';

/** A process that starts again has a new epoch, which shows that work of the earlier epoch has ended. */
const laidInPostgres: Laid = async (size) => {
  const { url, run } = await sharedLedger();
  let starts = 0;
  const dead: (() => Promise<void>)[] = [];
  return {
    async start() {
      await run(`UPDATE instances SET epoch = ${++starts} WHERE slot = 1`);
      const handle = handleOf({ url });
      const opened = await openBooksOn({ store: handle }, 1, { epoch: starts });
      const close = async () => {
        await opened.books.written();
        await opened.close();
        await handle.close();
      };
      // A transaction of a process that has crashed may still run when the last count begins.
      const traffic = postgresTraffic(handle, { size, waitMs: 1_000 });
      const crash = async () => {
        dead.push(close);
      };
      return { store: withRepositories(handle), books: opened.books, traffic, close, crash };
    },
    async [Symbol.asyncDispose]() {
      for (const close of dead) await close().catch(() => {});
    },
  };
};

test(`in PostgreSQL ${LAW}`, async () => {
  await fc.assert(lawOf(laidInPostgres), tries(`${LAW}, in PostgreSQL`, 1, 50));
});
