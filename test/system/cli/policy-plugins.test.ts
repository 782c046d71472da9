import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../../support/answers.ts';
import { cleanEnvironment, PROGRAM, runCommand, writePolicy } from '../../support/signalbox.ts';

/** Plugins of a policy that print, end the process or never end, while a command loads them, and plugins that are edited. */
const policy = (more: string) => `version: 1
unstated_quality: default
providers: { sim: { adapter: simulated } }
models:
  one: { provider: sim, price: { input: 1, output: 4 }, context_window: 32768, max_output: 8192, quality: { default: 0.9 } }
${more}`;

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newFolder(text: string): string {
  const folder = writePolicy(text);
  folders.push(folder);
  return folder;
}

describe('a plugin of the policy', () => {
  const withPlugin = (code: string) => {
    const made = newFolder(policy('plugins: [./own.ts]\n'));
    writeFileSync(join(made, 'own.ts'), code);
    return made;
  };

  test('a plugin that ends the process cannot make policy test report success', async () => {
    const { code, err } = await runCommand(['policy', 'check', withPlugin('process.exit(0);')]);
    expect([code, err]).toEqual([
      1,
      'signalbox: A plugin of the policy ended the process before the command was done. Remove the call that exits from the plugin.\n',
    ]);
  });

  test('a plugin that ends the process prevents the server from starting, with a message and an exit code', async () => {
    const made = withPlugin('process.exit(0);');
    const { code, err } = await runCommand(['serve', '--port', '0', '--data', made, '--policies', made]);
    expect(code).toBe(1);
    expect(err).toContain(
      'signalbox: A plugin of the policy ended the process while the policy was loaded. Remove the call that exits from the plugin.\n',
    );
  });

  test('a plugin cannot print into the JSON output', async () => {
    const print = "console.log('loud'); process.stdout.write('loud');";
    const { out, err } = await runCommand(['policy', 'test', withPlugin(`${print}\nexport default 1;`), '--json']);
    expect(JSON.parse(out)).toBeObject();
    expect(err).toContain('loud');
  });
});

describe('signalbox policy test --watch', () => {
  test('policy test --watch runs again after an edit of the policy or of a plugin’s imports, and ends with the last exit code', async () => {
    const plugin = `import { defineStrategy, Type } from 'signalbox/plugin';
import { reason } from './inner.ts';
const score = ({ n, quality }, utility) => { for (let i = 0; i < n; i++) utility[i] = quality[i]; };
export default defineStrategy({ name: 'own', status: 'alpha', options: Type.Object({}), prepare: () => ({ reason, score }) });
`;
    const text = policy(`plugins: [./plugins/own.ts]
selectors: { mine: { strategy: own } }
cases: [{ name: it is mine, given: { model: mine }, expect: { reason: "mine:one" } }]
`);
    const home = newFolder(text);
    mkdirSync(join(home, 'plugins'));
    writeFileSync(join(home, 'plugins/own.ts'), plugin);
    writeFileSync(join(home, 'plugins/inner.ts'), `export const reason = 'one';\n`);

    const child = Bun.spawn([PROGRAM, 'policy', 'test', home, '--watch', '--json', '--data', home], {
      env: cleanEnvironment({}),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const runs: { counts: unknown }[] = [];
    const reading = (async () => {
      const decoder = new TextDecoder();
      let rest = '';
      for await (const chunk of child.stdout) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        runs.push(...lines.map((line) => JSON.parse(line)));
      }
    })();
    const ran = (at: number) => waitFor(() => runs[at]);
    expect((await ran(0)).counts).toMatchObject({ hold: 1, failed: 0 });
    writeFileSync(join(home, 'policy.yaml'), `${text}bad: [\n`);
    expect(await ran(1)).toMatchObject({ errors: 1, counts: null });
    writeFileSync(join(home, 'policy.yaml'), text);
    writeFileSync(join(home, 'plugins/inner.ts'), `export const reason = 'two';\n`);
    expect((await ran(2)).counts).toMatchObject({ hold: 0, failed: 1 });
    child.kill('SIGTERM');
    expect(await child.exited).toBe(2);
    await reading;
    expect(runs).toHaveLength(3);
  });

  test('policy test --watch can be ended while a plugin is in an endless loop', async () => {
    const home = newFolder(policy('plugins: [./own.ts]\n'));
    writeFileSync(join(home, 'own.ts'), 'export default 1;\n');
    const child = Bun.spawn([PROGRAM, 'policy', 'test', home, '--watch', '--data', home], {
      env: cleanEnvironment({}),
      stdout: 'pipe',
      stderr: 'ignore',
    });
    for await (const chunk of child.stdout) if (new TextDecoder().decode(chunk).includes('Waiting')) break;
    writeFileSync(join(home, 'own.ts'), "await Bun.write(import.meta.dir + '/loops', '');\nfor (;;);\n");
    await waitFor(() => existsSync(join(home, 'loops')));
    child.kill('SIGINT');
    expect(await Promise.race([child.exited, Bun.sleep(4000)])).toBe(130);
  });
});
