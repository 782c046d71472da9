import { isDeep, tries } from '../../deep/effort.ts';
import { inTurns, LAW, type Lay, overNames } from '../../instances/names-law.ts';
import { openHandle, withRepositories } from '../../store/postgres/opened.ts';
import { openBooksOn, sharedLedger } from '../../store/postgres/stage.ts';

const inPostgres: Lay = async () => {
  const ledger = await sharedLedger();
  const opened = await Promise.all(
    [1, 2].map(async (slot) => {
      const handle = await openHandle(ledger.url);
      const { books, close } = await openBooksOn(ledger, slot);
      return { rows: withRepositories(handle), books, close: () => Promise.all([close(), handle.close()]) };
    }),
  );
  return {
    handles: opened,
    async [Symbol.asyncDispose]() {
      for (const { close } of opened) await close();
    },
  };
};

overNames({
  ...{ name: 'PostgreSQL', lay: inPostgres, turns: inTurns, runs: tries(`${LAW}, in PostgreSQL`, 3, 300) },
  ...{ mutantRuns: 3_000, mutants: ({ books, isRare }) => isDeep && !books && !isRare },
});
