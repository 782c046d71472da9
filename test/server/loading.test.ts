import { expect, test } from 'bun:test';
import { dirname, join } from 'node:path';

const SRC = join(import.meta.dir, '../../src');
/** The modules that `main.ts` imports dynamically when a server starts. */
const STARTED = [
  ...['main.ts', 'server/serve.ts', 'dialects/openai-chat/surface.ts', '../plugins/index.ts'],
  // `admin/groups.ts` lists the operations.
  ...new Bun.Glob('admin/*.ts').scanSync(SRC),
];
const HEAVY = /^(?:viem|ox|@x402)(?:\/|$)/;
const transpiler = new Bun.Transpiler({ loader: 'ts' });

const imports = new Map<string, Promise<readonly string[]>>();

/** Returns the static imports of a file, without type imports. */
const loadedBy = (file: string): Promise<readonly string[]> => imports.getOrInsertComputed(file, readImports);

async function readImports(file: string): Promise<readonly string[]> {
  const found = transpiler.scanImports((await Bun.file(file).text()).replace(/^#!.*/, ''));
  return found.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
}

/** Returns the packages that a file loads, directly or indirectly. */
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

test('a start loads few packages: the packages for tracing, tokens, sign-in, payments and OpenAPI wait for their first use', async () => {
  const entries = await Promise.all(STARTED.map((entry) => packagesOf(join(SRC, entry))));
  const names = entries.flatMap((packages) => [...packages]).filter((name) => !/^(?:node|bun):/.test(name));
  expect([...new Set(names)].sort()).toEqual([
    '@marcbachmann/cel-js',
    '@noble/hashes/sha3',
    '@sinclair/typebox',
    '@sinclair/typebox/compiler',
    '@sinclair/typebox/errors',
    '@sinclair/typebox/value',
    'elysia',
    // Signalbox's own contract, by the name that plugins use.
    'signalbox/plugin',
    // Only the paths of this package's files are used.
    'swagger-ui-dist/favicon-32x32.png',
    'swagger-ui-dist/swagger-ui-bundle.js',
    'swagger-ui-dist/swagger-ui.css',
  ]);
});

test('a command line is parsed without loading a package, so that each command loads only its own part', async () => {
  for (const entry of ['main.ts', 'admin/offline.ts']) {
    const packages = await packagesOf(join(SRC, entry));
    expect([...packages].filter((name) => !/^(?:node|bun):/.test(name))).toEqual([]);
  }
});

test('a server without payments does not load their packages', async () => {
  const entries = await Array.fromAsync(new Bun.Glob('{server,http,gateway,cli,payments}/*.ts').scan(SRC));
  expect(entries).toContain('server/serve.ts');
  for (const entry of entries) {
    const heavy = [...(await packagesOf(join(SRC, entry)))].filter((name) => HEAVY.test(name));
    expect([entry, heavy]).toEqual([entry, []]);
  }
});

test('a server with payments loads their packages', async () => {
  const packages = await packagesOf(join(SRC, 'payments/facilitator/open.ts'));
  expect([...packages].some((name) => HEAVY.test(name))).toBe(true);
});
