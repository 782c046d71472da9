import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exampleGuard } from './index.ts';

const found = (text: string) =>
  exampleGuard.prepare({ prefix: 'ORD' }).check({ side: 'input', texts: [{ text, role: 'user', kind: 'text' }] });

test('a number of an order is found with its place, and nothing else is', () => {
  const text = readFileSync(join(import.meta.dir, 'samples/match.txt'), 'utf8');
  expect(found(text)).toEqual([{ kind: 'order-number', at: { text: 0, from: 9, to: 21 } }]);
  expect(found('Where is ORD-1234?')).toEqual([]);
});
