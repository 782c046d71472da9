import { idAt } from '../../../src/core/id.ts';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { applied, fundOf, holdOf, NOON, settleOf } from '../suites/books.ts';
import { openBooksOn } from './stage.ts';

/** The limit of the budget that all processes share: microcredits. */
export const LIMIT = 150_000;
/** The results that a process received. */
export interface Told {
  readonly charges: number;
  readonly charged: number;
}

const HOLD = 100;
const IN_FLIGHT = 20;

/**
 * Run as `bun spend-together.ts URL SLOT`. The script begins when it reads a line, and spends the budget with several requests at once
 * until all are refused.
 */
if (import.meta.main) {
  const [, , url = '', slot] = process.argv;
  const store = await openPostgres({ url });
  await using opened = await openBooksOn({ store }, Number(slot));
  const { books } = opened;
  const fund = fundOf(LIMIT);
  let [id, charges, charged] = [idAt(NOON) + Number(slot), 0, 0];
  const spend = async (): Promise<void> => {
    for (;;) {
      id += 128;
      const own = id;
      const held = await applied(books, holdOf(own, [fund], HOLD));
      if (held.kind === 'refused') return;
      const [settled] = await books.append([settleOf(own, charges % 5 === 0 ? HOLD / 4 : HOLD)]);
      if (settled?.kind !== 'charged') throw new Error('a settlement charged nothing');
      charges++;
      charged += settled.charged;
    }
  };
  console.log('ready');
  for await (const _ of console) break;
  await Promise.all(Array.from({ length: IN_FLIGHT }, spend));
  await books.written();
  console.log(JSON.stringify({ charges, charged } satisfies Told));
  await store.close();
}
