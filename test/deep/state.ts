import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { ELSEWHERE, SUITES } from '../support/elsewhere.ts';
import { effort } from './effort.ts';

/** `npm run test:deep -- state`: the suites that use only HTTP, on other stores. */
const ROOT = join(import.meta.dir, '../..');
const STORES = Object.keys(ELSEWHERE);
const { proved } = effort('state', STORES.length, STORES.length);

for (const store of STORES)
  test(`the HTTP suites pass on another store: ${store}`, async () => {
    // The settings of a section must not reach its own test processes.
    const { SIGNALBOX_DEEP: _, SIGNALBOX_PROOF: __, ...env } = process.env;
    const args = [process.execPath, 'test', '--timeout=120000', ...(SUITES[store] ?? [])];
    const child = Bun.spawn(args, {
      cwd: ROOT,
      env: { ...env, SIGNALBOX_STORE: store },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const printed = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const passed = (await child.exited) === 0;
    if (!passed) console.log(printed.join(''));
    expect(passed).toBe(true);
  });

test('each store is in the results', () => {
  proved(`the HTTP suites pass on the stores ${STORES.join(', ')}`);
});
