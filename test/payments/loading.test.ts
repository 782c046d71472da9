import { expect, test } from 'bun:test';
import { dirname, join } from 'node:path';

const SRC = join(import.meta.dir, '../../src');
const HEAVY = /^(?:viem|ox|@x402)(?:\/|$)/;
const transpiler = new Bun.Transpiler({ loader: 'ts' });

/** The static imports of a file, without types. */
async function loadedBy(file: string): Promise<string[]> {
  const imports = transpiler.scanImports(await Bun.file(file).text());
  return imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
}

/** The packages that a file loads, directly or not. */
async function packagesOf(entry: string): Promise<Set<string>> {
  const packages = new Set<string>();
  const files = new Set([entry]);
  for (const file of files) {
    for (const path of await loadedBy(file)) {
      if (!path.startsWith('.')) packages.add(path);
      else if (path.endsWith('.ts')) files.add(join(dirname(file), path));
    }
  }
  return packages;
}

test('a server without payments does not load their packages', async () => {
  const entries = await Array.fromAsync(new Bun.Glob('{server,http,gateway,cli,payments}/*.ts').scan(SRC));
  expect(entries).toContain('server/serve.ts');
  for (const entry of entries) {
    const heavy = [...(await packagesOf(join(SRC, entry)))].filter((name) => HEAVY.test(name));
    expect([entry, heavy]).toEqual([entry, []]);
  }
});

test('a server with payments does', async () => {
  const packages = await packagesOf(join(SRC, 'payments/facilitator/open.ts'));
  expect([...packages].some((name) => HEAVY.test(name))).toBe(true);
});
