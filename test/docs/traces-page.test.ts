import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (path: string) => readFileSync(join(import.meta.dir, '../..', path), 'utf8');

test('docs/operate/observe.md names every attribute of our own that a span may have, and no others', () => {
  const page = read('docs/operate/observe.md');
  const namesIn = (text: string, name: RegExp) =>
    [...new Set([...text.matchAll(name)].map(([, found]) => found))].sort();
  const names = namesIn(
    read('src/request/observe/spans.ts') + read('src/exchange/call-span.ts'),
    /'(signalbox\.\w+)'/g,
  );
  expect(names.length).toBeGreaterThan(15);
  expect(namesIn(page, /`(signalbox\.\w+)`/g)).toEqual(names);
});
