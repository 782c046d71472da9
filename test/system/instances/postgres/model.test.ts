import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { effort, isDeep } from '../../../deep/effort.ts';
import { Play } from './play.ts';
import { movedDatabase } from './side.ts';
import { historiesOf, type Size } from './steps.ts';

/**
 * The hostile world is a model of a store, against which the laws of several instances run. In the histories of this world, calls come
 * late, are lost or refused, and instances crash, pause and lose their leases. This test sends everything that arrives at the model's store
 * to PostgreSQL, too: each answer and all readable data at the end must be equal.
 */
const { runs, seed, proved } = effort('model', 10, 300);
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

test('the hostile world and PostgreSQL give the same answers to the same histories of many instances', async () => {
  await using database = await movedDatabase();
  const size = isDeep ? MANY : FEW;
  await fc.assert(law(database, size), { numRuns: runs, seed, endOnFailure: isDeep, unbiased: isDeep });
  if (isDeep) expect(steps).toBeGreaterThan(1_700 * runs);
  proved(
    `${steps} steps of ${size.instances} instances on the hostile world and on PostgreSQL: the same answers and content`,
  );
}, 7_200_000);
