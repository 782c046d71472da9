import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { OpenStore } from '../../src/store/driver.ts';
import { openStore } from '../../src/store/open.ts';
import { overlaid } from '../support/overlaid.ts';
import { startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';

/** How long a distant database takes to accept budgets, ms. */
const ACCEPTS_MS = 30;

/** A store whose books accept budgets as slowly as in a distant database. */
function distant(store: OpenStore): OpenStore {
  const openBooks: OpenStore['openBooks'] = async (now) => {
    const books = await store.openBooks(now);
    const accept: typeof books.accept = async (terms) => {
      await Bun.sleep(ACCEPTS_MS);
      return books.accept(terms);
    };
    return overlaid(books, { accept });
  };
  return overlaid(store, { openBooks });
}

test('keys with budgets that are created at the same time work once their answers have the secrets', async () => {
  const data = temporaryFolder();
  const store = await openStore(join(data, 'signalbox.db'), { mode: 'serve', program: 'test' });
  const box = await startSignalbox({ data, openStore: async () => distant(store) });
  const budgets = [{ limit_credits: 1_000, window: 'day' }];
  const make = async (path: string, by: string, body: object) => {
    const made = await box.post(path, { name: 'new', budgets, ...body }, withKey(by));
    const { key } = Object(await made.json());
    return { key, status: (await box.get('/v1/models', withKey(key))).status };
  };
  const parent = await make('/admin/keys', box.key, { scopes: ['chat', 'delegate'] });
  const making = Array.from({ length: 12 }, (_, n) =>
    n % 3 === 0 ? make('/v1/keys', parent.key, {}) : make('/admin/keys', box.key, {}),
  );
  expect((await Promise.all(making)).filter(({ status }) => status !== 200)).toEqual([]);
  await box.stop();
});
