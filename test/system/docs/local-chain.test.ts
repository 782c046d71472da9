import { expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd, temporaryFolder } from '../../support/signalbox.ts';

const SERVE = join(import.meta.dir, '../support/chain/serve.ts');

test('`npm run chain` writes a valid policy, prints the variables, and ends with its chain', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'payments.yaml');
  const child = Bun.spawn(['bun', SERVE, file], { stdout: 'pipe', stderr: 'inherit' });
  const decoder = new TextDecoder();
  let out = '';
  for await (const bytes of child.stdout) {
    out += decoder.decode(bytes, { stream: true });
    if (out.includes('The chain is at')) break;
  }
  for (const name of ['X402_GAS_KEY', 'WALLET_KEY', 'PAY_IN']) expect(out).toMatch(new RegExp(`${name}=0x[0-9a-f]+`));
  const [, url = ''] = /at (http:\S+),/.exec(out) ?? [];
  expect(readFileSync(file, 'utf8')).toContain(`rpc_urls: ["${url}"]`);
  child.kill('SIGINT');
  expect(await child.exited).toBe(0);
  expect(await fetch(url).catch(() => null)).toBeNull();

  // The command does not change an existing file.
  const before = readFileSync(file, 'utf8');
  const { code, err } = await runToEnd(['bun', SERVE, file], {});
  expect([code, err.includes('could not be written')]).toEqual([1, true]);
  expect(readFileSync(file, 'utf8')).toBe(before);
  rmSync(folder, { recursive: true });
});
