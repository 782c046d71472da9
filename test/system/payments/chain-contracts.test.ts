import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { COMPILED, sourcesHash } from '../support/chain/compile.ts';

test('the stored contracts of the test chain are compiled from the current sources', () => {
  // `npm run test:deep -- contracts` compiles them.
  expect(JSON.parse(readFileSync(COMPILED, 'utf8')).sources).toBe(sourcesHash());
});
