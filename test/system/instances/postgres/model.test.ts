import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { effort, isDeep, someOf } from '../../../deep/effort.ts';
import { Play } from './play.ts';
import { type Mutant, movedDatabase } from './side.ts';
import { historiesOf, type Size } from './steps.ts';

/**
 * The hostile world is the model by which the laws of several instances go. What arrives at its store, of histories in which calls come
 * late, are lost or refused and instances crash, sleep and lose their leases, is asked of PostgreSQL, too: each answer and all that
 * can be read in the end are the same.
 */
const { runs, seed, proved } = effort('model', 10, 600);
const FEW: Size = { things: 2, instances: 3, steps: 40 };
const MANY: Size = { things: 100, instances: 100, steps: 1_200 };

let steps = 0;
const law = ({ compare }: Awaited<ReturnType<typeof movedDatabase>>, size: Size) =>
  fc.asyncProperty(historiesOf(size), async (history) => {
    const play = new Play(size);
    await play.run(history);
    await compare(play);
    steps += play.arrivals.length + play.events;
  });

test('the hostile world and PostgreSQL answer the same histories of many instances alike', async () => {
  await using database = await movedDatabase();
  const size = isDeep ? MANY : FEW;
  await fc.assert(law(database, size), { numRuns: runs, seed, endOnFailure: false, unbiased: isDeep });
  if (isDeep) expect(steps).toBeGreaterThan(1_000_000);
  proved(
    `${steps} steps of ${size.instances} instances on the hostile world and on PostgreSQL: the same answers and content`,
  );
}, 7_200_000);

/** Each is another PostgreSQL, by a piece of the text of a function or a statement. */
const MUTANTS: Readonly<Record<string, Mutant>> = {
  'grants one more than there is': [
    'given := least(free, own + expected);',
    'given := least(free, own + expected) + 1;',
  ],
  'voids what has ended': ["ELSIF h.state <> 'open' THEN", "ELSIF h.state = 'void' THEN"],
  'sweeps what the living hold': ['now.ms < i.until + $1::bigint', 'now.ms < i.until - 19000 + 0 * $1::bigint'],
  'posts twice': ['AND nth <> checked)', 'AND false)'],
  'decides without a lease': ['AND instances.until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint', ''],
  'commits without a lease': [
    'AS held FROM instances WHERE slot = $1 AND epoch = $2 AND',
    'AS held FROM instances WHERE slot = $1 AND epoch = $2 OR',
  ],
  'holds though its name is taken': ['IF r.must AND n = 0 THEN', 'IF false THEN'],
  'lets two claim a name': ['SET time = idempotency.time WHERE', 'SET time = idempotency.time WHERE true OR'],
  'debits no rate': ['rate.units_left := rate.units_left - granted * MINUTE_MS;', ''],
  'counts the streams of the dead': ['i.until > now_ms', 'true'],
  'gives a job to two': ['OR leaders.until <=', 'OR true OR leaders.until <='],
};

for (const [name, mutant] of someOf(Object.entries(MUTANTS)))
  test(`a PostgreSQL that ${name} differs`, async () => {
    await using database = await movedDatabase(mutant);
    const how = isDeep ? { numRuns: 4_000, seed } : { numRuns: 400, seed: 22, endOnFailure: true };
    const found = await fc.check(law(database, FEW), how);
    // By another answer or content, and by no other error.
    expect(`${found.errorInstance}`).toContain('expect(received).toEqual(expected)');
    // Few steps are left of forty.
    if (isDeep) expect(found.counterexample?.[0].length).toBeLessThan(10);
  }, 600_000);
