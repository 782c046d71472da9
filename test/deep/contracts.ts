import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { COMPILED, compileContracts } from '../system/support/chain/compile.ts';
import { effort } from './effort.ts';

/** `npm run test:deep -- contracts` compiles the contracts, which takes seconds. */
const { proved } = effort('contracts', 1, 1);

test('the stored contracts of the test chain are the compiler’s output', async () => {
  const stored = JSON.parse(readFileSync(COMPILED, 'utf8'));
  expect({ ...(await compileContracts()), sources: stored.sources }).toEqual(stored);
  proved('the stored contracts of the test chain are the compiler’s output');
});
