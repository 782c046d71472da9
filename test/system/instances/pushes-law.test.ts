import { effort, isDeep } from '../../deep/effort.ts';
import { type Lay, overPushes } from '../../instances/pushes-law.ts';
import { openHandle, withRepositories } from '../../store/postgres/opened.ts';
import { sharedLedger } from '../../store/postgres/stage.ts';

const inPostgres: Lay = async () => {
  const { url } = await sharedLedger();
  const ends: (() => Promise<void>)[] = [];
  return {
    async open() {
      const handle = await openHandle(url);
      const store = withRepositories(handle);
      store.news.listen();
      ends.push(async () => {
        await store.news.close();
        await handle.close();
      });
      return store;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
    },
  };
};

overPushes('PostgreSQL', inPostgres, effort('pushes', 2, 50), isDeep);
