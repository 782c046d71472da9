import { afterAll, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildConsole } from '../../../deploy/console.ts';
import type { ConsoleManifest } from '../../../src/http/console/built.ts';
import { runToEnd, temporaryFolder } from '../../support/signalbox.ts';

/** Tests of the build by `deploy/console.ts`, and of when it runs again. */
const ROOT = join(import.meta.dir, '../../..');
/** The limit for the script that loads before an editor opens, bytes after gzip. */
const SCRIPT_BYTES_MAX = 120_000;

const home = temporaryFolder();
afterAll(() => rmSync(home, { recursive: true }));

/** Makes a clone with everything that the console's build needs. The tests share clones and run in order. */
function cloneAt(name: string): string {
  const clone = join(home, name);
  if (existsSync(clone)) return clone;
  for (const path of ['src/console', 'src/http', 'src/core', 'deploy', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, path), join(clone, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  return clone;
}

const build = (clone: string) => runToEnd([join(clone, 'deploy/console.sh')], {}, '/');
const manifestOf = (clone: string): ConsoleManifest =>
  JSON.parse(readFileSync(join(clone, 'dist/console/manifest.json'), 'utf8'));

/** Returns a script and all scripts that it loads automatically. */
function loaded(folder: string, script: string, known = new Set<string>()): Set<string> {
  known.add(script);
  const text = readFileSync(join(folder, script), 'utf8');
  for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([^"']+)["']/g)) {
    if (!known.has(name)) loaded(folder, name, known);
  }
  return known;
}

test('every file in the list of console files exists, with the stated hash, size and type', async () => {
  const folder = join(home, 'whole');
  const { script, style, icon, plainStyle, assets } = await buildConsole(folder);
  const names = assets.map(({ name }) => name);
  for (const name of [script, style, icon, plainStyle]) expect(names).toContain(name);
  for (const { name, sha256, bytes, gzip, type } of assets) {
    expect(name).toMatch(/^[\w-]+-[0-9a-f]{12}\.(?:js|css|svg|woff2|png)$/);
    expect(type).not.toBe('');
    const content = readFileSync(join(folder, name));
    expect([content.length, new Bun.CryptoHasher('sha256').update(content).digest('hex')]).toEqual([bytes, sha256]);
    if (gzip) expect(Buffer.from(Bun.gunzipSync(readFileSync(join(folder, `${name}.gz`))))).toEqual(content);
  }
});

test('the script that loads before an editor opens has at most 120 kB after gzip', async () => {
  const folder = join(home, 'whole');
  const { script } = await buildConsole(folder);
  const sizes = [...loaded(folder, script)].map((name) => Bun.gzipSync(readFileSync(join(folder, name))).length);
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  expect(total).toBeGreaterThan(4_000);
  expect(total).toBeLessThan(SCRIPT_BYTES_MAX);
});

test('two clones in different folders build the same bytes', async () => {
  const clones = ['one', 'two/deeper'].map(cloneAt);
  for (const clone of clones) expect(await build(clone)).toEqual({ code: 0, out: '', err: '' });
  const [one, two] = clones.map(manifestOf);
  expect(one).toEqual(two!);
});

test('the console is built again if a source was changed, added or removed, and only then', async () => {
  const clone = cloneAt('one');
  const manifest = join(clone, 'dist/console/manifest.json');
  await build(clone);
  /** Whether the install script builds again. The time of an earlier build is set to the past. */
  const isBuiltAnew = async (): Promise<boolean> => {
    writeFileSync(join(clone, 'dist/console/mark'), '');
    expect((await build(clone)).code).toBe(0);
    return !existsSync(join(clone, 'dist/console/mark'));
  };
  /** Make every file a minute old. */
  const age = (path: string) => utimesSync(join(clone, path), new Date(), new Date());
  expect(await isBuiltAnew()).toBe(false);
  age('src/console/main.tsx');
  expect([await isBuiltAnew(), await isBuiltAnew()]).toEqual([true, false]);
  age('src/http/console/pages.css');
  expect(await isBuiltAnew()).toBe(true);
  mkdirSync(join(clone, 'src/console/new'));
  expect([await isBuiltAnew(), await isBuiltAnew()]).toEqual([true, false]);
  rmSync(join(clone, 'src/console/new'), { recursive: true });
  expect(await isBuiltAnew()).toBe(true);
  rmSync(manifest);
  expect(await isBuiltAnew()).toBe(true);
});

test('sources that do not compile fail the build and keep the earlier build', async () => {
  const clone = cloneAt('two/deeper');
  await build(clone);
  const before = manifestOf(clone);
  writeFileSync(join(clone, 'src/console/main.tsx'), 'import "../../console/missing.ts";\n');
  const { code, err } = await build(clone);
  expect(code).not.toBe(0);
  expect(err).toContain('missing.ts');
  expect(manifestOf(clone)).toEqual(before);
});
