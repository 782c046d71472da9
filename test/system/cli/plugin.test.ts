import { afterAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../../src/core/usage-error.ts';
import { samplesBeside } from '../../../src/tools/plugin/samples.ts';
import { tried } from '../../../src/tools/plugin/trial.ts';
import { deeply, orDeeply } from '../../deep/deeply.ts';
import { runHere } from '../../support/run-here.ts';
import { runCommand, runToEnd, temporaryFolder } from '../../support/signalbox.ts';

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ROOT = join(import.meta.dir, '../../..');
const at = (path: string): string => join(folder, path);
const run = async (...args: string[]) => {
  const { code, out, err } = await runHere(['plugin', ...args], { SIGNALBOX_POLICIES: at('used') });
  if (code === 1) throw new UsageError(err.replace('signalbox: ', '').trimEnd());
  return { code, text: out };
};

function write(path: string, text: string): string {
  mkdirSync(join(at(path), '..'), { recursive: true });
  writeFileSync(at(path), text);
  return at(path);
}

/** A strategy as a plugin author might write it, with `score` as its score. */
const strategy = (score: string, more = '') => `import { defineStrategy, Type } from 'signalbox/plugin';
${more}
export const own = defineStrategy({
  name: 'own', status: 'alpha', options: Type.Object({}),
  prepare: () => ({ reason: 'own', score({ n, quality, cost }, out) { for (let i = 0; i < n; i++) ${score} } }),
});`;

describe('signalbox plugin new', () => {
  test.each(orDeeply(['strategy', 'guard'], ['provider']))(
    'plugin new creates a %s that type-checks and passes its own test in a folder outside the clone',
    async (kind) => {
      const { text, code } = await run('new', kind, 'my-own-7', '--dir', at(kind));
      expect(code).toBe(0);
      expect(text).toContain(`./signalbox plugin test ${at(`${kind}/my-own-7/index.ts`)}`);
      const home = at(`${kind}/my-own-7`);
      const made = readFileSync(join(home, 'index.ts'), 'utf8');
      expect(made).toContain(`export const myOwn7${kind[0]?.toUpperCase()}${kind.slice(1)} = `);
      expect(made).toContain("name: 'my-own-7'");
      expect(
        [...new Bun.Glob('**/*').scanSync(home)].filter((path) =>
          /example/i.test(readFileSync(join(home, path), 'utf8')),
        ),
      ).toEqual([]);
      const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
      expect(manifest.name).toBe(`signalbox-${kind}-my-own-7`);
      const bin = join(ROOT, 'node_modules/.bin');
      const [tests, types] = await Promise.all([
        runToEnd([join(bin, 'bun'), 'test'], {}, home),
        runToEnd([join(bin, 'tsc'), '--project', home], {}, home),
      ]);
      expect([tests.code, tests.err.includes(' 0 fail'), types]).toEqual([0, true, { code: 0, out: '', err: '' }]);
    },
  );

  test.each([
    [['new'], /needs .*guard.* and a name/],
    [['new', 'estimator', 'x'], /needs .*guard/],
    [['new', 'strategy'], /and a name/],
    [['new', 'strategy', 'a', 'b'], /and a name/],
    [['new', 'strategy', 'My_Own'], /at most 64 lower-case letters, digits and dashes, not "My_Own"/],
    [['new', 'strategy', '../up'], /not "\.\.\/up"/],
    [['new', 'strategy', 'a'.repeat(65)], /at most 64/],
    [['new', 'strategy', 'auto'], /Signalbox already has a strategy `auto`/],
    [['new', 'strategy', 'x', '--to', 'y'], /--to/],
    [['make'], /The commands of plugin are new or test/],
    [[], /The commands of plugin are new or test/],
  ] as const)('%j prints one clear sentence', async (args, told) => {
    const failed = run(...args);
    await expect(failed).rejects.toThrow(told);
    await expect(failed).rejects.toBeInstanceOf(UsageError);
  });

  test('plugin new prints how a policy names the plugin: by its path from the policy folder, which is the used one if no policy is around it', async () => {
    write('policy/main.yaml', 'version: 1\nselectors: {}\n');
    write('other/compose.yaml', 'version: 3\nservices: {}\n');
    const said = async (name: string, dir: string) => {
      const { text } = await run('new', 'strategy', name, '--dir', at(dir));
      return [/plugins: \[(.+)\]/, /\.\/signalbox policy check.*/, /\.\/signalbox policy explain.*/].map((form) =>
        form.exec(text)?.at(-1),
      );
    };
    const inPolicy = (name: string) => [
      `./${name}/index.ts`,
      `./signalbox policy check ${at('policy')}`,
      `./signalbox policy explain ${at('policy')} --model auto-${name.replace('plugins/', '')} --message Hello`,
    ];
    expect(await said('near', 'policy')).toEqual(inPolicy('near'));
    expect(await said('inner', 'policy/plugins')).toEqual(inPolicy('plugins/inner'));
    expect(await said('far', 'other')).toEqual([
      '../other/far/index.ts',
      `./signalbox policy check ${at('used')}`,
      `./signalbox policy explain ${at('used')} --model auto-far --message Hello`,
    ]);
  });

  test.each(['strategy', 'provider', 'guard'])(
    'a policy with the lines that plugin new prints uses the %s',
    async (kind) => {
      cpSync(join(ROOT, 'policies'), at(`used-${kind}`), { recursive: true });
      const policies = at(`used-${kind}`);
      const words = ['plugin', 'new', kind, `my-${kind}`, '--dir', at('beside')];
      const { out: text } = await runHere(words, { SIGNALBOX_POLICIES: policies });
      const lines = text.split('\n');
      const first = lines.findIndex((line) => line.trim().startsWith('plugins: '));
      const printed = lines.slice(first, first + 2).map((line) => line.trim());
      write(`used-${kind}/own.yaml`, printed.join('\n').replace('https://…', 'https://api.example'));
      const checked = await runCommand(['policy', 'check', policies]);
      expect(checked).toMatchObject({ code: 0, err: '', out: expect.stringContaining(': 7 files') });
    },
  );

  test('the last command that plugin new prints for a guard shows a match of the guard', async () => {
    cpSync(join(ROOT, 'policies'), at('guarded'), { recursive: true });
    const { text } = await run('new', 'guard', 'own', '--dir', at('guarded/plugins'));
    write('guarded/own.yaml', /plugins: .+\n +guards: .+/.exec(text)![0].replace(/^ +/gm, ''));
    const command = text.trimEnd().split('\n').at(-1)!.trim();
    const { out, err, code } = await runToEnd(['sh', '-c', command], { SIGNALBOX_DATA: at('guarded-data') }, ROOT);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('The guard own found 1 order-number in the request');
  });

  test('plugin new never overwrites a file and refuses even an empty folder', async () => {
    write('full/there/notes.txt', 'mine');
    mkdirSync(at('full/empty'));
    write('full/file', 'mine');
    for (const name of ['there', 'empty', 'file'])
      await expect(run('new', 'strategy', name, '--dir', at('full'))).rejects.toThrow(/already exists/);
    expect(readFileSync(at('full/there/notes.txt'), 'utf8')).toBe('mine');
    expect(existsSync(at('full/empty/index.ts'))).toBe(false);
    await expect(run('new', 'strategy', 'fine', '--dir', at('full/file'))).rejects.toThrow(/cannot be written/);
  });
});

describe('signalbox plugin test', () => {
  test('plugin test ends with 2 for a broken law, and prints the smallest failing case and its seed', async () => {
    const file = write('dear.ts', strategy('out[i] = quality[i] + cost[i];'));
    const args = ['plugin', 'test', file, '--seed', '7', '--runs', '60'];
    const { code, out, err } = await runCommand(args);
    expect([code, err]).toEqual([2, '']);
    expect(out).toContain('✗ dominance: a candidate that is at least as good');
    expect(out).toMatch(
      / {6}A ranks above B, which is as good in everything and better in something\n {6}in: A \(Q 0, C 0\.\d+, L 0 ms\), B \(Q 0, C 0, L 0 ms\); reference /,
    );
    expect(out).toContain('1 of 13 laws broken; seed 7, 60 cases for each law');
    expect(out).toContain(`./signalbox plugin test ${file} --seed 7 --runs 60`);
  });

  test('plugin test prints the same JSON for the same seed, and reports a name that is taken', async () => {
    const file = write(
      'late.ts',
      strategy('out[i] = Date.now() > 0 ? quality[i] : 0;', "console.log('I am here');").replace("'own'", "'auto'"),
    );
    const [one, other] = await Promise.all(
      [0, 1].map(() => run('test', file, '--seed', '3', '--runs', '20', '--json')),
    );
    expect(one).toEqual(other!);
    const { ok, seed, runs, plugins } = JSON.parse(one!.text);
    expect([one?.code, ok, seed, runs]).toEqual([2, false, 3, 20]);
    expect(plugins).toMatchObject([{ kind: 'strategy', name: 'auto', status: 'alpha' }]);
    const broken = plugins[0].laws.filter(({ outcome }: { outcome: string }) => outcome === 'broken');
    expect(broken).toMatchObject([
      { law: 'name', fault: expect.stringContaining('Signalbox already has a strategy `auto`') },
      { law: 'deterministic', fault: 'the plugin uses a clock (Date.now)' },
    ]);
  });

  test('plugin test accepts an installed package with the files that it imports, wherever its tsconfig.json looks for Signalbox', async () => {
    write(
      'home/node_modules/@acme/fair/package.json',
      '{ "name": "@acme/fair", "type": "module", "exports": "./main.ts" }',
    );
    write(
      'home/node_modules/@acme/fair/main.ts',
      strategy('out[i] = fair(quality[i]);', "import { fair } from './fair.ts';"),
    );
    write('home/node_modules/@acme/fair/fair.ts', 'export const fair = (q: number): number => q;');
    const nowhere = { compilerOptions: { paths: { 'signalbox/plugin': ['/nowhere/plugin.ts'] } } };
    write('home/node_modules/@acme/fair/tsconfig.json', JSON.stringify(nowhere));
    const main = join(ROOT, 'src/main.ts');
    const { code, out, err } = await runToEnd([main, 'plugin', 'test', '@acme/fair', '--runs', '5'], {}, at('home'));
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/@acme\/fair: all 13 laws hold; seed \d+, 5 cases for each law/);
  });

  test('plugin test finds a runtime module in code that no case reaches, and accepts an import of its types', async () => {
    write('reads/inner.ts', "import { readFileSync } from 'node:fs';\nexport const read = readFileSync;");
    const file = write(
      'reads/index.ts',
      strategy(
        'out[i] = n > 1e6 ? read.length : quality[i];',
        "import type { Stats } from 'node:os';\nimport { read } from './inner.ts';",
      ),
    );
    const { code, text } = await run('test', file, '--runs', '5');
    expect([code, /✗ imports: .+\n {6}(.+)/.exec(text)?.[1]]).toEqual([2, 'inner.ts imports `node:fs`']);
  });

  test('plugin test finds indirect imports of runtime modules, and those of imported packages', async () => {
    write('ways/node_modules/slow/package.json', '{ "name": "slow", "main": "main.js" }');
    write('ways/node_modules/slow/main.js', "exports.read = () => require('node:fs');");
    const file = write(
      'ways/index.ts',
      strategy(
        'out[i] = n > 1e6 ? Number(process["getBuiltinModule"]("os").uptime() + Bun.nanoseconds() + read()) : quality[i];',
        "import { read } from 'slow';\n// Bun.file is only spoken of here\nexport const words = 'what Bun.file does';",
      ),
    );
    const { code, text } = await run('test', file, '--runs', '5');
    expect([code, /✗ imports: .+\n {6}(.+)/.exec(text)?.[1]]).toEqual([
      2,
      'index.ts uses `Bun.nanoseconds`, index.ts uses `process.getBuiltinModule`, main.js imports `node:fs`',
    ]);
  });

  deeply('finds a module of the runtime in a file with markup, which Bun takes in `.js`, too', async () => {
    const markup = `/** @jsxRuntime classic */
/** @jsx h */
import { readFileSync } from 'node:fs';
const h = () => readFileSync;
export const read = <b />;`;
    write('markup/inner.js', markup);
    const score = 'out[i] = n > 1e6 ? read.length : quality[i];';
    const file = write('markup/index.ts', strategy(score, "import { read } from './inner.js';"));
    const { code, text } = await run('test', file, '--runs', '5');
    expect([code, /✗ imports: .+\n {6}(.+)/.exec(text)?.[1]]).toEqual([2, 'inner.js imports `node:fs`']);
  });

  deeply('says of a package with more files than it reads that it has not seen all', async () => {
    const names = Array.from({ length: 2_000 }, (_, at) => `f${at}.js`);
    for (const name of names) write(`wide/node_modules/wide/${name}`, '');
    write('wide/node_modules/wide/package.json', '{ "name": "wide", "main": "main.js" }');
    write('wide/node_modules/wide/main.js', names.map((name) => `import('./${name}');`).join('\n'));
    const file = write('wide/index.ts', strategy('out[i] = quality[i];', "export const load = () => import('wide');"));
    const { code, text } = await run('test', file, '--runs', '5');
    expect([code, /✗ imports: .+\n {6}(.+)/.exec(text)?.[1]]).toEqual([
      2,
      'the plugin has more than 2000 files, so the imports of the other files were not checked',
    ]);
  });

  test('plugin test says in one sentence why it cannot load a file', async () => {
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['broken.ts', 'export const a = {\n', /broken\.ts cannot be loaded: .+\(line \d\)\.$/],
      ['empty.ts', 'export const a = 1;\n', /exports no plugin: it needs an export made by `defineStrategy`/],
      ['throws.ts', 'throw new Error("not today");', /throws\.ts cannot be loaded: not today\.$/],
    ];
    await Promise.all(
      cases.map(([name, text, told]) => expect(run('test', write(`bad/${name}`, text))).rejects.toThrow(told)),
    );
    await expect(run('test', at('bad/none.ts'))).rejects.toThrow(/There is no file .*none\.ts\./);
    await expect(run('test', 'no-such-package')).rejects.toThrow(/the package `no-such-package` is not installed/);
    for (const [flag, value] of [
      ['--runs', '0'],
      ['--runs', '1e3'],
      ['--seed', 'x'],
    ] as const)
      await expect(run('test', 'a.ts', flag, value)).rejects.toThrow(`${flag} must be a whole number from`);
    await expect(run('test')).rejects.toThrow('needs one file');
  });

  test('plugin test stops a plugin that never returns, and names the law', async () => {
    const trial = { folder, seed: 1, runs: 5, samples: {} };
    const endless = { ...trial, specifier: write('endless.ts', strategy('while (cost[i] > 0);')) };
    // On a busy machine, loading must fit into this time, too.
    const [report] = await tried(endless, 3_000);
    expect(report?.laws.at(-1)).toMatchObject({ outcome: 'broken', fault: 'the plugin did not end within 3 s' });
    expect(report?.laws.at(-1)?.law).not.toBe('loading');
  });

  test('plugin test replays the answers that are recorded next to a provider, and refuses an invalid expectation', () => {
    write('heard/samples/a.stream', 'data: 1\n\n');
    write('heard/samples/a.expect.json', '{ "text": "1" }');
    write('heard/samples/other/b.reply', '{}');
    write('heard/samples/README.md', 'notes');
    expect(samplesBeside(at('heard'))).toEqual({
      '': [{ name: 'a.stream', kind: 'stream', text: 'data: 1\n\n', expect: { text: '1' } }],
      other: [{ name: 'b.reply', kind: 'reply', text: '{}', expect: null }],
    });
    write('heard/samples/a.expect.json', '{ "words": "1" }');
    expect(() => samplesBeside(at('heard'))).toThrow(
      /a\.expect\.json is not a valid expectation: `words` has the wrong form\. It must be an object with the optional keys text, /,
    );
    write('heard/samples/a.expect.json', '{');
    expect(() => samplesBeside(at('heard'))).toThrow(/a\.expect\.json is not JSON/);
  });
});
