import { expect, test } from 'bun:test';
import { sqlKeys } from '../../src/store/sql/keys.ts';
import type { SqlWrite, Statement } from '../../src/store/sql/statement.ts';
import { sqlTrail } from '../../src/store/sql/trail.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { peopleMigrations } from '../../src/store/sqlite/people.ts';
import type { KeyEvent } from '../../src/store/trail.ts';
import { keyInfo } from './suites/access.ts';
import { tempFolder } from './support.ts';

const HASH = new Uint8Array(32);
const EVENT: KeyEvent = { time: 1, actor: { kind: 'server' }, action: 'create', keyId: 'k', details: {} };

/** Collects every statement about keys that runs while a server serves. Listing all keys and starting a server may read the whole table. */
async function statements(): Promise<readonly Statement[]> {
  const all: Statement[] = [];
  const db = {
    query: async (statement: Statement) => {
      all.push(statement);
      return [];
    },
    commit: async () => {},
  };
  const keys = sqlKeys(db);
  const trail = sqlTrail(db);
  await keys.changedAfter(5);
  await keys.find('k');
  await keys.withHashes([HASH]);
  await keys.ofHolder('0xa');
  for (const member of ['team', 'user', 'parent'] as const)
    for (const isUnrevoked of [false, true])
      await keys.page({ after: { createdAt: 1, id: 'k' }, limit: 9, of: { member, id: 'x' }, isUnrevoked });
  for (const isUnrevoked of [false, true])
    await keys.page({ after: { createdAt: 1, id: 'k' }, limit: 9, of: null, isUnrevoked });
  await keys.names(['k']);
  await keys.idsOf({ team: 'red', user: 'ann' });
  await keys.idsOf({ name: 'app' });
  await keys.idsBelow('k', 9);
  await keys.countOfUser({ owner: 'ann', maker: 'bob' }, 1);
  const room = { unrevoked: 2, aDay: 3 };
  const place = { parent: 'k', hash: HASH, depth: 3, live: 2, aDay: 5, aDayOfUser: 9 };
  const writes = [
    keys.insert(keyInfo('k'), HASH),
    keys.rotate('k', HASH, 1, 1),
    keys.change(keyInfo('k')),
    keys.revoke('k', 1),
    keys.revokeOfHolder('0xa', null, 1),
    keys.putUses({ k: 1 }),
    trail.addIfValid(EVENT, 1),
    trail.addIfRoom(EVENT, '0xa', room),
    trail.addIfRoomOfUser(EVENT, { owner: 'ann', maker: 'bob', ...room }),
    trail.addIfRoomBelow(EVENT, place),
    trail.addOfHolder(EVENT, '0xa', null),
  ] as SqlWrite[];
  return [...all, ...writes.map(({ statement }) => statement)];
}

test('no statement about keys reads the whole table while a server serves', async () => {
  using folder = tempFolder();
  const store = await openSqlite(folder.file, [accessMigrations, peopleMigrations]);
  const scans: string[] = [];
  for (const { sql } of await statements()) {
    const plan = await store.query<{ readonly detail: string }>({ sql: `EXPLAIN QUERY PLAN ${sql}` });
    for (const { detail } of plan) if (/^SCAN (keys|above|root)\b/.test(detail)) scans.push(`${detail}: ${sql}`);
  }
  expect(scans).toEqual([]);
  await store.close();
});
