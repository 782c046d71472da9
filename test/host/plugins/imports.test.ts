import { expect, test } from 'bun:test';
import { importsIn } from '../../../src/host/plugins/load.ts';

const of = (path: string, code: string) => importsIn(path, () => new TextEncoder().encode(code));
const IMPORT = "import { readFileSync } from 'node:fs';\n";
const MARKUP = `${IMPORT}export const one = <b>{readFileSync('x')}</b>;\n`;
const TYPES = `${IMPORT}export const one = <string>readFileSync('x', 'utf8');\n`;

test.each([
  ...['a.ts', 'a.mts', 'a.cts'].map((path) => [path, TYPES] as const),
  ...['a.mjs', 'a.cjs'].map((path) => [path, IMPORT] as const),
  // Bun runs these files as JSX, too.
  ...['a.js', 'a.jsx', 'a.tsx', '/some/where.d/a.b.tsx'].map((path) => [path, MARKUP] as const),
])('imports are found in the language of a file: %s', (path, code) => {
  // Compiled JSX imports its own runtime.
  expect(of(path, code)).toContain('node:fs');
});

test('a file of another kind has no imports, and a module that cannot be parsed is an error', () => {
  for (const path of ['a.json', 'a.wasm', 'a', 'ts']) expect(of(path, 'import "node:fs"')).toEqual([]);
  expect(() => of('a.ts', 'import {')).toThrow();
});
