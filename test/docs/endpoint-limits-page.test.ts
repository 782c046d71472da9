import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** docs/route/endpoint-limits.md: the policy serves requests, and its limits are counted. */
const PAGE = readFileSync(join(import.meta.dir, '../../docs/route/endpoint-limits.md'), 'utf8');
const upstream = useUpstream();

test('a server with the policy of the page serves requests under its limits', async () => {
  const [, text = ''] = /^```yaml policy\n([\s\S]*?)^```$/m.exec(PAGE) ?? [];
  const policy = `version: 1\n${text.replaceAll(/base_url: \S+/g, `base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY`)}`;
  const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  try {
    const messages = [{ role: 'user', content: 'Hello' }];
    expect((await box.post('/v1/chat/completions', { model: 'chat', messages })).status).toBe(200);
    const { data } = (await (await box.get('/admin/endpoints')).json()) as {
      data: { provider: string; limits: { limit: string; most: number }[] }[];
    };
    const { limits } = data.find(({ provider }) => provider === 'reserved')!;
    expect(limits.map(({ limit, most }) => [limit, most])).toEqual([
      ['requests_per_minute', 600],
      ['tokens_per_minute', 400_000],
      ['concurrent_requests', 50],
    ]);
  } finally {
    await box.stop();
  }
});
