import { expect, test } from 'bun:test';
import { effort } from '../../../deep/effort.ts';
import { askAt, bearer, ENV, isSafe, withCanary } from '../../../security/litellm-2026/bearers.ts';
import { holds, POLICY } from '../../../security/litellm-2026/support.ts';
import { startServers } from '../../../support/postgres-servers.ts';

const { runs, seed } = effort('SQL in bearer values', 150, 300);

test('CVE-2026-42208, SQL in the bearer value > any value gets 401 on PostgreSQL, and changes nothing', async () => {
  await using fleet = await startServers(1, { policy: POLICY, env: ENV });
  const [server] = fleet.servers;
  expect((await withCanary(server!)).status).toBe(200);
  const name = fleet.url.split('/').at(-1);
  const contents = () =>
    fleet.database.run("SELECT md5(string_agg(k::text, '' ORDER BY k::text)), count(*) FROM keys k", name);
  const before = await contents();
  expect(await holds(bearer, isSafe(askAt(server!)), { runs, seed })).toBe(true);
  expect(await contents()).toEqual(before);
});
