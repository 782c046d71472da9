import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** docs/route/endpoint-limits.md: the policy serves requests, and its limits are counted. */
const PAGE = readFileSync(join(import.meta.dir, '../../docs/route/endpoint-limits.md'), 'utf8');
const upstream = useUpstream();

test('a server with the policy of the page counts the use of its limits', async () => {
  const [, text = ''] = /^```yaml policy\n([\s\S]*?)^```$/m.exec(PAGE) ?? [];
  const policy = `version: 2\n${text.replaceAll(/base_url: \S+/g, `base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY`)}`;
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    const messages = [{ role: 'user', content: 'Hello' }];
    expect((await box.post('/v1/chat/completions', { model: 'chat', messages })).status).toBe(200);
    const { data } = (await (await box.get('/admin/endpoints')).json()) as {
      data: { provider: string; limits: { limit: string; used: number }[] }[];
    };
    const { limits } = data.find(({ provider }) => provider === 'reserved')!;
    expect(limits.map(({ limit }) => limit)).toEqual([
      'requests_per_minute',
      'tokens_per_minute',
      'concurrent_requests',
    ]);
    expect(limits[0]!.used).toBeGreaterThan(0);
  } finally {
    await box.stop();
  }
});
