import { join } from 'node:path';
import { openKeys } from '../../../src/access/keys.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../../src/store/sqlite/keys.ts';
import { waitFor } from '../../support/answers.ts';
import type { Signalbox } from '../../support/signalbox.ts';

export interface MadeKey {
  readonly key: string;
  readonly id: string;
}

/** Creates a key for each set of labels in a running server's database, and waits until the server knows them. */
export async function makeKeys(
  box: Signalbox,
  labels: readonly Readonly<Record<string, string>>[],
): Promise<readonly MadeKey[]> {
  const store = await openSqlite(join(box.data, 'signalbox.db'), [accessMigrations]);
  const keys = await openKeys({ store, now: Date.now });
  const made: MadeKey[] = [];
  for (const label of labels) {
    const { key, info } = await keys.create({ name: 'test', scopes: ['chat', 'route'], labels: label });
    made.push({ key, id: info.id });
  }
  keys.close();
  await store.close();
  const last = { headers: { authorization: `Bearer ${made.at(-1)!.key}` } };
  await waitFor(async () => (await box.get('/v1/models', last)).status === 200);
  return made;
}
