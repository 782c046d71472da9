import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { openOperatorSocket } from '../../../src/http/operator-socket.ts';
import { runCommand, temporaryFolder } from '../../support/signalbox.ts';

test('a command waits for a long operation of the server beyond the idle limits of its connection', async () => {
  const data = temporaryFolder();
  const desk = {
    handle: async (request: Request) => {
      // The engine closes an idle connection at most one limit later than it should: the command's limit is 4 s, the server's was 10 s.
      if (request.url.endsWith('/admin/ledger/audit')) await Bun.sleep(15_000);
      return Response.json({});
    },
    follow: async (change: () => Promise<Response>) => ({ result: await change(), behind: [] }),
  };
  const stop = openOperatorSocket(data, desk, { warn: () => {} });
  try {
    const { err } = await runCommand(['ledger', 'audit', '--data', data], { BUN_CONFIG_HTTP_IDLE_TIMEOUT: '4' });
    expect(err).toContain('another version');
  } finally {
    stop?.();
    rmSync(data, { recursive: true });
  }
}, 60_000);
