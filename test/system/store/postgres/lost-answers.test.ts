import { expect, test } from 'bun:test';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { applyOnce } from '../../../../src/ledger/repeat.ts';
import { StoreError } from '../../../../src/store/store.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { fundOf, granted, holdOf, nextId } from '../../../store/suites/books.ts';

/**
 * Books on a database that decides while its answers are lost until it is `well`. The database may be unreachable after the first lost
 * answer.
 */
async function losing(isAwayBehind: boolean) {
  const ledger = await emptyLedger();
  let isWell = false;
  let asked = 0;
  const opened = await openBooksOn(ledger, 1, {
    spoil:
      (decide) =>
      async (...group) => {
        if (!isWell && isAwayBehind && asked++ > 0) throw new StoreError('nothing listens at its address');
        const result = await decide(...group);
        if (!isWell) throw new StoreError('no answer', { reason: 'unknown' });
        return result;
      },
  });
  const [id, fund] = [nextId(), fundOf(1_000)];
  const tools = { books: opened.books, timers: processTimers, now: Date.now };
  return {
    recover: () => {
      isWell = true;
    },
    /** Requests a hold as the gateway does. */
    hold: () => applyOnce(tools, [holdOf(id, [fund], 100)]),
    /** Returns the held amount, and whether the hold is open. */
    async found() {
      // This call finishes after the void, for which no caller waits.
      await opened.books.append([{ kind: 'release', id: nextId() }]);
      const [row] = await ledger.run(`SELECT held::int FROM funds WHERE name = 'all'`);
      return [row?.held, (await opened.books.reservation(id))?.isOpen ?? false];
    },
    async [Symbol.asyncDispose]() {
      await opened.close();
      await ledger[Symbol.asyncDispose]();
    },
  };
}

for (const isAwayBehind of [false, true]) {
  const how = isAwayBehind ? 'the database cannot be reached behind it' : 'no other comes';
  test(`a hold whose answer is lost is granted if the database is back soon: ${how}`, async () => {
    await using box = await losing(isAwayBehind);
    const asked = box.hold();
    setTimeout(box.recover, 300);
    expect(await asked).toEqual([granted(100)]);
    expect(await box.found()).toEqual([100, true]);
  });

  test(`a hold whose answer is lost permanently is voided, and never granted: ${how}`, async () => {
    await using box = await losing(isAwayBehind);
    const asked = box.hold().then(
      () => 'granted',
      (error: StoreError) => error.reason,
    );
    setTimeout(box.recover, 2_300);
    expect(await asked).toBe('broken');
    expect(await box.found()).toEqual([0, false]);
  });
}
