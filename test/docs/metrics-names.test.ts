import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentedFamilies } from './metrics-page.ts';

const ROOT = join(import.meta.dir, '../..');
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true }).map((name) => `docs/${name}`)];
const NAME = /\b(?:signalbox|process)_[a-z_]+_[a-z]+\b/g;

/** A histogram has three names. */
const known = new Set(
  documentedFamilies.flatMap(({ name, type }) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
);

test('every metric that the documentation names exists', () => {
  const strangers = PAGES.filter((path) => path.endsWith('.md')).flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(NAME)]
      .map(([name]) => name)
      .filter((name) => !known.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect(strangers).toEqual([]);
});
