import { randomBytes } from 'node:crypto';
import type { Statement, Store } from '../store/store.ts';

/** 64 bits, specific to this installation, for hashes of words. */
export type LearningSecret = readonly [number, number];

const SELECT_TABLE: Statement = {
  sql: `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'learning_secret'`,
};
const SELECT: Statement = { sql: 'SELECT secret FROM learning_secret' };
const INSERT: Statement = { sql: 'INSERT INTO learning_secret (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING' };

/** Null before the first start of a server that learns. Rejects with StoreError. */
export async function findSecret(store: Pick<Store, 'query'>): Promise<LearningSecret | null> {
  if ((await store.query(SELECT_TABLE)).length === 0) return null;
  const [row] = await store.query<{ secret: Uint8Array }>(SELECT);
  if (!row) return null;
  const view = new DataView(row.secret.buffer, row.secret.byteOffset, row.secret.byteLength);
  return [view.getUint32(0), view.getUint32(4)];
}

/** Creates it at the first start. Rejects with StoreError. */
export async function loadSecret(store: Store): Promise<LearningSecret> {
  const existing = await findSecret(store);
  if (existing) return existing;
  await store.commit([{ statement: INSERT, params: [randomBytes(8)] }]);
  const made = await findSecret(store);
  if (!made) throw new Error('The secret of the features was not kept.');
  return made;
}
