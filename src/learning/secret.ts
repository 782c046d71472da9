import { randomBytes } from 'node:crypto';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';

/** 64 bits, specific to this installation, for hashes of words. */
export type LearningSecret = readonly [number, number];

/** Null before the first start of a server that learns. Rejects with StoreError. */
export async function findSecret({ learning }: Pick<Repositories, 'learning'>): Promise<LearningSecret | null> {
  const secret = await learning.secret.find();
  if (!secret) return null;
  const view = new DataView(secret.buffer, secret.byteOffset, secret.byteLength);
  return [view.getUint32(0), view.getUint32(4)];
}

/** Creates it at the first start. Rejects with StoreError. State: learning secret. */
export async function loadSecret(
  store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>,
): Promise<LearningSecret> {
  const existing = await findSecret(store);
  if (existing) return existing;
  await store.commit([store.learning.secret.add(randomBytes(8))]);
  const made = await findSecret(store);
  if (!made) throw new Error('The secret for the features was not stored.');
  return made;
}
