import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { COMPILED, compileContracts } from '../support/chain/compile.ts';

test('the contracts of the test chain are kept as the compiler makes them', async () => {
  expect(await compileContracts()).toEqual(JSON.parse(readFileSync(COMPILED, 'utf8')));
});
