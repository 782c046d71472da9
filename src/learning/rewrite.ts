import type { Store } from '../store/store.ts';
import { partWrites } from './memories.ts';
import type { Replay } from './outcomes.ts';
import { putThrough } from './tables.ts';

/**
 * Replaces what an estimator remembers by what a replay has learnt. Nobody may serve from the store meanwhile: a server
 * would write its own over it. Rejects with StoreError, and with an Error where the plugin cannot be saved.
 */
export async function keepReplay(store: Pick<Store, 'commit'>, { memory, through }: Replay): Promise<void> {
  const { name } = memory;
  const saved = memory.save();
  if (!saved) throw new Error(`The estimator \`${name}\` cannot be saved, so nothing was replaced.`);
  await store.commit([
    ...partWrites(name, { ...saved, everything: true }),
    putThrough(name, through.outcome, through.reset),
  ]);
}
