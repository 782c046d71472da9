import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { COMPILED, compileContracts } from '../support/chain/compile.ts';

test('the stored contracts of the test chain match the compiler’s output', async () => {
  expect(await compileContracts()).toEqual(JSON.parse(readFileSync(COMPILED, 'utf8')));
});
