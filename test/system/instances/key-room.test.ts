import { afterAll, expect, test } from 'bun:test';
import { openKeys } from '../../../src/access/keys.ts';
import { KeyTermsError, USER_LIMITS } from '../../../src/access/terms.ts';
import { SERVER } from '../../../src/store/trail.ts';
import { openHandle, withRepositories } from '../../store/postgres/opened.ts';
import { laidDatabase } from '../../support/shared-postgres.ts';

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

test('two servers that share one PostgreSQL database together create no more keys for a user than the user may have', async () => {
  const { url } = await laidDatabase();
  const open = async () => {
    const handle = withRepositories(await openHandle(url));
    const keys = await openKeys({ store: handle, now: Date.now });
    ends.push(async () => {
      keys.close();
      await handle.close();
    });
    return keys;
  };
  const servers = [await open(), await open()];
  const make = (at: number) =>
    servers[at % 2]!.create({ name: '', scopes: ['chat'] }, SERVER, { maker: 'user_ann' }).catch((cause) => cause);
  const made = await Promise.all(Array.from({ length: USER_LIMITS.unrevoked + 20 }, (_, at) => make(at)));
  expect(made.filter((one) => one instanceof KeyTermsError)).toHaveLength(20);
  const [server] = servers;
  const all = await Array.fromAsync(server!.read({ after: null, of: null, isUnrevoked: true }));
  expect(all).toHaveLength(USER_LIMITS.unrevoked);
});
