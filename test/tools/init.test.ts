import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder } from '../support/signalbox.ts';

const home = temporaryFolder();
afterAll(() => rmSync(home, { recursive: true }));

/** Runs a line in a shell. */
const shell = (line: string, cwd: string) => Bun.spawnSync(['sh', '-c', line], { cwd }).stdout.toString();

describe('signalbox init', () => {
  test('prints commands that work as they are, whatever the name of the folder', async () => {
    const folder = join(home, 'my folder');
    const { code, out } = await runHere(['init', folder]);
    expect(code).toBe(0);
    const [, from = '', to = '', load = ''] = /Copy (.+) to (.+), set .*: (.+)/.exec(out) ?? [];
    writeFileSync(join(folder, '.env.example'), 'OPENAI_API_KEY=a-key');
    expect(shell(`cp ${from} ${to}; ${load}; printenv OPENAI_API_KEY`, home)).toBe('a-key\n');
    const [, policies = ''] = /serve --policies (.+)/.exec(out) ?? [];
    expect(shell(`ls ${policies}`, home)).toContain('signalbox.yaml');
  });

  test('refuses a folder or a file with the name of the policy that has something else', async () => {
    mkdirSync(join(home, 'file'));
    writeFileSync(join(home, 'file/policies'), '');
    mkdirSync(join(home, 'folder/policies'), { recursive: true });
    writeFileSync(join(home, 'folder/policies/index.html'), '');
    for (const at of ['file', 'folder']) {
      const folder = join(home, at);
      const { code, err } = await runHere(['init', folder]);
      expect([code, err]).toEqual([1, expect.stringContaining('has no policy')]);
      expect(existsSync(join(folder, '.env.example'))).toBe(false);
    }
  });
});
