import { resetLearning } from '../../learning/outcomes.ts';
import { openStore } from '../../store/open.ts';
import { LEARNING } from '../../store/trail.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/**
 * Forgets what was learned of a model by ID, or everything for null, beside a server.
 * @param now ms since 1970. Rejects with StoreError.
 */
export async function forgetLearning(
  by: Principal,
  database: string,
  model: string | null,
  now: number,
): Promise<void> {
  checkAction(by.caller, 'learning.change');
  const store = await openStore(database, { mode: 'beside', rooms: ['access', 'learning'] });
  try {
    const subject = model === null ? LEARNING : { kind: 'model', id: model };
    const entry = store.trail.add({ time: now, actor: by.actor, action: 'reset', subject, details: {} });
    await resetLearning(store, model, now, [entry]);
  } finally {
    await store.close();
  }
}
