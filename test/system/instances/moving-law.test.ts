import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { addressOf } from '../../../src/store/postgres/address.ts';
import { postgresRepositories } from '../../../src/store/postgres/repositories.ts';
import { PostgresSnapshot } from '../../../src/store/postgres/snapshot.ts';
import { isDeep, tries } from '../../deep/effort.ts';
import { findingsIn } from '../../instances/ledgers.ts';
import { countingLimitedOnly, LAW, type LayMoving, lawOf, openingUnlocked, slow } from '../../instances/moving-law.ts';
import { openBooksOn, sharedLedger } from '../../store/postgres/stage.ts';
import { OPENINGS } from '../../store/suites/openings.ts';

/** @param seen changes the books as one server sees them, to make a mutant */
const inPostgres =
  (seen: typeof openingUnlocked = (books) => books): LayMoving =>
  async (random) => {
    const ledger = await sharedLedger();
    const opened = [await openBooksOn(ledger, 1), await openBooksOn(ledger, 2)];
    return {
      // A few ms, so that other servers act between a read and a write.
      books: opened.map(({ books }) => slow(seen(books), random, true, () => Bun.sleep(2))),
      async findings() {
        const snapshot = await PostgresSnapshot.open(addressOf(ledger.url));
        return await findingsIn(postgresRepositories(snapshot, null)).finally(() => snapshot.close());
      },
      async [Symbol.asyncDispose]() {
        for (const { close } of opened) await close();
      },
    };
  };

test(`in PostgreSQL, ${LAW}`, async () => {
  await fc.assert(lawOf(inPostgres()), tries('moving users of two servers, in PostgreSQL', 12, 300));
});

for (const [name, run] of Object.entries(OPENINGS)) {
  test(`in PostgreSQL, ${name}`, async () => {
    await using opened = await openBooksOn(await sharedLedger());
    await run(opened.books);
  });
}

for (const [name, mutant] of Object.entries({ openingUnlocked, countingLimitedOnly })) {
  test(`in PostgreSQL, the law of moving users finds the mutant ${name}`, async () => {
    const how = { ...tries('moving users of two servers, in PostgreSQL', 60, 300), endOnFailure: true };
    const { failed } = await fc.check(lawOf(inPostgres(mutant)), isDeep ? how : { ...how, seed: 1 });
    expect(failed).toBe(true);
  });
}
