import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Hold } from '../../src/ledger/hold.ts';
import { tempFolder } from '../store/support.ts';
import { entries, flaky, line, open, order, reservations } from './support.ts';

const LIMIT = 300;

type Step = readonly [action: 'reserve' | 'raise' | 'post' | 'settle' | 'give up' | 'break' | 'mend', n: number];

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.tuple(
    fc.constantFrom<Step[0][]>('reserve', 'reserve', 'raise', 'post', 'settle', 'settle', 'give up', 'break', 'mend'),
    fc.integer({ min: 0, max: LIMIT }),
  ),
  { minLength: 5, maxLength: 60 },
);

/** Runs the steps without waiting for one another, then closes what is left. Returns what callers were told. */
async function play(file: string, plan: readonly Step[]) {
  let broken = false;
  const { ledger, store } = await open(file, (store) => flaky(store, () => broken));
  const holds: Hold[] = [];
  const told = new Map<number, number>();
  const waits: Promise<unknown>[] = [];
  for (const [action, n] of plan) {
    const hold = holds[n % Math.max(holds.length, 1)];
    if (action === 'break' || action === 'mend') broken = action === 'break';
    else if (action === 'reserve') {
      const reserving = ledger.reserve(order(n, { limit: LIMIT }));
      waits.push(reserving.then((hold) => holds.push(hold)).catch(() => {}));
    } else if (!hold) continue;
    else if (action === 'post') hold.post(line(n));
    else if (action === 'raise') waits.push(hold.raise(n).catch(() => {}));
    else told.set(hold.id, hold.settle(action === 'settle' ? line(n) : null, () => []).charged);
    if (n % 3 === 0) await Promise.all(waits);
  }
  await Promise.all(waits);
  for (const hold of holds) told.set(hold.id, hold.settle(null, () => []).charged);
  await store.flush();
  const stored = { reservations: await reservations(store), entries: await entries(store) };
  const totals = await ledger.totals();
  const open_ = ledger.open;
  await store.close();
  return { told, totals, open: open_, ...stored };
}

test('whatever runs at once and fails between, the books agree with what callers were told', async () => {
  const law = fc.asyncProperty(steps, async (plan) => {
    using folder = tempFolder();
    const { told, totals, open, reservations, entries } = await play(folder.file, plan);
    expect(open).toBe(0);
    expect(totals).toMatchObject({ open: 0, reserved: 0 });
    expect(reservations).toHaveLength(told.size);
    for (const { id, amount, charged } of reservations) {
      const posted = entries.filter((entry) => entry.reservation_id === id);
      expect(charged).toBe(told.get(id)!);
      expect(posted.reduce((sum, entry) => sum + entry.microcredits, 0)).toBe(charged);
      expect(charged).toBeLessThanOrEqual(amount);
      expect(amount).toBeLessThanOrEqual(LIMIT);
    }
  });
  await fc.assert(law, { numRuns: 60 });
});
