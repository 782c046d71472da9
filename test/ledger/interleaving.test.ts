import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Hold } from '../../src/ledger/hold.ts';
import { tries } from '../deep/effort.ts';
import { flaky, tempFolder } from '../store/support.ts';
import { held, journal, line, open, order } from './support.ts';

const LIMIT = 300;

type Step = readonly [action: 'reserve' | 'raise' | 'post' | 'settle' | 'give up' | 'break' | 'mend', n: number];

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.tuple(
    fc.constantFrom<Step[0][]>('reserve', 'reserve', 'raise', 'post', 'settle', 'settle', 'give up', 'break', 'mend'),
    fc.integer({ min: 0, max: LIMIT }),
  ),
  { minLength: 5, maxLength: 60 },
);

/**
 * Runs the steps without waiting between them, then closes what is left open.
 * @returns what callers were answered
 */
async function play(file: string, plan: readonly Step[]) {
  let broken = false;
  const { ledger, store } = await open(file, { wrap: (store) => flaky(store, () => broken) });
  const holds: Hold[] = [];
  const told = new Map<number, number>();
  const waits: Promise<unknown>[] = [];
  for (const [action, n] of plan) {
    const hold = holds[n % Math.max(holds.length, 1)];
    if (action === 'break' || action === 'mend') broken = action === 'break';
    else if (action === 'reserve') {
      const reserving = held(ledger, order(n, { limit: LIMIT }));
      waits.push(reserving.then((hold) => holds.push(hold)).catch(() => {}));
    } else if (!hold) continue;
    else if (action === 'post') hold.post(line(n));
    else if (action === 'raise') waits.push(hold.raise([n]).catch(() => {}));
    else told.set(hold.id, (await hold.settle(action === 'settle' ? line(n) : null, () => [])).charged);
    if (n % 3 === 0) await Promise.all(waits);
  }
  await Promise.all(waits);
  for (const hold of holds) told.set(hold.id, (await hold.settle(null, () => [])).charged);
  const rows = await journal(store);
  const status = await ledger.status();
  await store.close();
  return { told, status, rows };
}

test('the ledger’s books agree with the answers to callers, for any order of steps and failures', async () => {
  const law = fc.asyncProperty(steps, async (plan) => {
    using folder = tempFolder();
    const { told, status, rows } = await play(folder.file, plan);
    expect(status).toMatchObject({ open: 0, held: 0 });
    const sum = (id: number, ...kinds: string[]) =>
      rows
        .filter(({ kind, reservation }) => reservation === id && kinds.includes(kind))
        .reduce((total, { amount }) => total + amount, 0);
    const ids = new Set(rows.map(({ reservation }) => reservation));
    expect(ids.size).toBe(told.size);
    for (const [id, charged] of told) {
      const reserved = sum(id, 'reserve', 'raise');
      expect(sum(id, 'post', 'settle')).toBe(charged);
      expect(rows.filter(({ kind, reservation }) => reservation === id && kind === 'settle')).toHaveLength(1);
      expect(charged).toBeLessThanOrEqual(reserved);
      expect(reserved).toBeLessThanOrEqual(LIMIT);
    }
    expect(status.charged).toBe([...told.values()].reduce((total, charged) => total + charged, 0));
  });
  await fc.assert(law, tries('under any interleaving and failure the books agree with the answers', 20, 200));
});
