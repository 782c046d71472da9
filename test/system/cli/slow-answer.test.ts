import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand, temporaryFolder } from '../../support/signalbox.ts';

test('a command waits for a long operation of the server beyond the idle limit of its connection', async () => {
  const data = temporaryFolder();
  const slow = Bun.serve({
    unix: join(data, 'operator.sock'),
    fetch: async (request, server) => {
      // Only the limit of the command is tested.
      server.timeout(request, 0);
      // The engine closes an idle connection at most one limit later than it should.
      if (request.url.endsWith('/admin/ledger/audit')) await Bun.sleep(9_000);
      return Response.json({});
    },
  });
  try {
    const { err } = await runCommand(['ledger', 'audit', '--data', data], { BUN_CONFIG_HTTP_IDLE_TIMEOUT: '4' });
    expect(err).toContain('another version');
  } finally {
    await slow.stop(true);
    rmSync(data, { recursive: true });
  }
}, 60_000);
