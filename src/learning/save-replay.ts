import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import { partWrites } from './memories.ts';
import type { ReplayResult } from './outcomes.ts';

/**
 * Replaces the stored memory of an estimator by a replay. No server may use the store meanwhile, because its
 * checkpoints would overwrite the result.
 * @throws StoreError; Error if the plugin cannot be saved
 */
export async function saveReplay(
  store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>,
  { memory, through }: ReplayResult,
): Promise<void> {
  const { name } = memory;
  const { memories } = store.learning;
  const saved = memory.save();
  if (!saved) throw new Error(`The estimator \`${name}\` cannot be saved, so nothing was replaced.`);
  await store.commit([
    ...partWrites(memories, name, { ...saved, everything: true }),
    memories.putPosition(name, through),
  ]);
}
