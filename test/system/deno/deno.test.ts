import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { orDeeply } from '../../deep/deeply.ts';
import { isDeep } from '../../deep/effort.ts';
import { NOT_PURE, PURE } from '../../support/pure-rooms.ts';
import { runHere } from '../../support/run-here.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { deno } from '../support/deno.ts';

/** Pure modules and plugins use only web standards, so another runtime (Deno) loads them without any permission. */
const ROOT = join(import.meta.dir, '../../..');
const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const urlOf = (path: string) => JSON.stringify(pathToFileURL(join(ROOT, path)).href);

function write(file: string, text: string, into = folder): string {
  writeFileSync(join(into, file), text);
  return file;
}

function modules(): readonly string[] {
  return PURE.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
      .map((path) => join(room, path))
      .filter((path) => !path.startsWith(NOT_PURE)),
  );
}

describe('in Deno, with no permission,', () => {
  write(
    'deno.json',
    `{ "nodeModulesDir": "manual", "imports": { "signalbox/plugin": ${urlOf('src/contract/plugin.ts')} } }`,
  );

  test('Deno loads every module of the pure folders and of the shipped plugins', async () => {
    const all = modules();
    expect(all.length).toBeGreaterThan(250);
    const lines = all.map((path, i) => `import * as m${i} from ${urlOf(path)};`);
    const list = all.map((_, i) => `m${i}`).join(', ');
    write('all.ts', `${lines.join('\n')}\nconsole.log([${list}].length);\n`);
    expect(await deno('run', 'all.ts', folder)).toEqual({ code: 0, out: `${all.length}\n`, err: '' });
  });

  test('Deno would refuse a module that reads a file or the environment as it loads', async () => {
    write('reads.ts', "import { readFileSync } from 'node:fs';\nreadFileSync('deno.json');\n");
    write('asks.ts', "import { env } from 'node:process';\nconsole.log(env.HOME);\n");
    for (const file of ['reads.ts', 'asks.ts']) {
      const { code, err } = await deno('run', file, folder);
      expect([file, code]).toEqual([file, 1]);
      expect(err).toContain('NotCapable');
    }
  });

  test.each(orDeeply(['provider'], ['strategy']))(
    'Deno loads a new %s from the template, and it satisfies its laws',
    async (kind) => {
      expect((await runHere(['plugin', 'new', kind, `my-${kind}`, '--dir', folder])).code).toBe(0);
      const home = join(folder, `my-${kind}`);
      const trial = `import * as made from './index.ts';
import { examine } from ${urlOf('src/tools/conformance/suite.ts')};
import { host } from ${urlOf('src/tools/plugin/gateway-parts.ts')};
const [plugin] = Object.values(made).filter((one) => typeof one === 'object' && 'kind' in one);
const reports = [...examine(plugin, { host, samples: [] }, { seed: 1, runs: 30 })];
console.log(JSON.stringify([plugin.name, reports.length > 5, reports.filter(({ outcome }) => outcome === 'broken')]));
`;
      write('trial.ts', trial, home);
      expect(await deno('run', 'trial.ts', home)).toEqual({ code: 0, out: `["my-${kind}",true,[]]\n`, err: '' });
      // Checking types takes seconds. The provider template uses the most types.
      if (isDeep) expect(await deno('check', 'index.ts', home)).toMatchObject({ code: 0 });
    },
  );
});
