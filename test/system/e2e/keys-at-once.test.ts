import { describe, expect, test } from 'bun:test';
import { isDeep } from '../../deep/effort.ts';
import { startSignalbox } from '../../support/signalbox.ts';
import { useSignalbox } from '../../support/use.ts';

/** How many keys are created and revoked, one after the other. */
const TIMES = isDeep ? 20 : 6;
/** The longest time that a command waits for a server, ms. */
const WAIT_MS = 5_000;

const box = useSignalbox({ isProcess: true });

const status = async (key: string) =>
  (await box.get('/v1/models', { headers: { authorization: `Bearer ${key}` } })).status;

async function run(...args: string[]): Promise<{ readonly key: string; readonly id: string; readonly err: string }> {
  const { code, out, err } = await box.run('keys', ...args);
  expect({ code, err: err.replaceAll(/^signalbox: (?:The change is saved|A budget of 0 Credits).*\n/gm, '') }).toEqual({
    code: 0,
    err: '',
  });
  const [, key = '', id = ''] = /^(sb_live_([a-z0-9]+)_[\w-]+)\n/.exec(out) ?? [];
  return { key, id, err };
}

describe('when a command returns, its change is active in the running server', () => {
  test('a new key works and a revoked key does not, each time', async () => {
    for (let i = 0; i < TIMES; i++) {
      // A key with a budget becomes valid only after the ledger counts for it.
      const { key, id } = await run('create', ...(i % 2 === 0 ? [] : ['--budget', '5/day']));
      expect(await status(key)).toBe(200);
      await run('revoke', id);
      expect(await status(key)).toBe(401);
    }
  });

  test('a suspended key does not work, a resumed key works, and a changed key has its new terms', async () => {
    const { key, id } = await run('create', '--budget', '5/day');
    await run('suspend', id);
    expect(await status(key)).toBe(403);
    await run('resume', id);
    expect(await status(key)).toBe(200);
    await run('change', id, '--budget', '0/day', '--name', 'spent');
    const chat = { model: 'auto', messages: [{ role: 'user', content: 'Hi.' }] };
    const asked = await box.post('/v1/chat/completions', chat, { headers: { authorization: `Bearer ${key}` } });
    expect(asked.status).toBe(402);
  });

  test('only the new secret of a rotated key works', async () => {
    const before = await run('create');
    const { key } = await run('rotate', before.id, '--overlap', '0');
    expect([await status(key), await status(before.key)]).toEqual([200, 401]);
  });

  test('the balance includes a grant', async () => {
    const { id } = await run('create');
    await run('grant', id, '25');
    const { balance } = (await (await box.get(`/admin/keys/${id}`)).json()) as { balance: unknown };
    expect(balance).toMatchObject({ granted_credits: 25 });
  });

  test('changes through the admin API do not delay a command', async () => {
    const made = await box.post('/admin/keys', { name: 'by request' });
    expect(made.status).toBe(200);
    const startedAt = performance.now();
    const { key, err } = await run('create');
    expect([await status(key), err]).toEqual([200, '']);
    expect(performance.now() - startedAt).toBeLessThan(WAIT_MS);
  });
});

// These tests run at the same time: one only waits, and the other uses its own servers.
describe.concurrent('a command does not wait', () => {
  test('longer than 5 seconds for a server that does not respond, and says so', async () => {
    process.kill(box.pid, 'SIGSTOP');
    try {
      expect((await box.run('keys', 'create')).err).toContain('does not answer within 2 s');
      const startedAt = performance.now();
      const { key, err } = await run('create', '--offline');
      expect(key).toStartWith('sb_live_');
      expect(performance.now() - startedAt).toBeGreaterThan(WAIT_MS);
      expect(err).toMatch(
        /^signalbox: The change is saved\. The server \S+:\d+ has not applied the change after 5 seconds\. It will do so as soon as it can\.\n$/,
      );
    } finally {
      process.kill(box.pid, 'SIGCONT');
    }
  });

  test('if no server runs, because it was stopped or killed', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const other = await startSignalbox({ isProcess: signal === 'SIGKILL' });
      other.signal(signal);
      await other.exited;
      const startedAt = performance.now();
      expect(await other.run('keys', 'create')).toMatchObject({ code: 0, err: '' });
      expect(performance.now() - startedAt).toBeLessThan(WAIT_MS);
      await other.stop();
    }
  });
});
