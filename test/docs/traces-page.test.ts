import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (path: string) => readFileSync(join(import.meta.dir, '../..', path), 'utf8');

test('docs/traces.md names every attribute of our own that a span may have', () => {
  const page = read('docs/traces.md');
  const names = [...read('src/gateway/observe/spans.ts').matchAll(/'(signalbox\.\w+)'/g)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
