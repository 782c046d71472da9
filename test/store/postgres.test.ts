import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { testLaws } from './books-law.ts';
import { LIMIT, type Told } from './postgres/spend-together.ts';
import { sharedLedger, TWO_IN_POSTGRES } from './postgres/stage.ts';
import { BOOKS_CASES } from './suites/books.ts';
import { INCIDENT_CASES } from './suites/incidents.ts';
import { overBooks } from './tested-books.ts';

/** `npm test` runs only these tests with PostgreSQL. `npm run test:system` has all other tests with PostgreSQL. */
overBooks([TWO_IN_POSTGRES], { ...BOOKS_CASES, ...INCIDENT_CASES }, testLaws);

const SPENDER = join(import.meta.dir, 'postgres/spend-together.ts');

/** Starts a process that spends the budget once `begin` is called. */
async function startSpender(url: string, slot: number) {
  const { stdin, stdout, exited } = Bun.spawn([process.execPath, SPENDER, url, `${slot}`], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const lines = stdout.pipeThrough(new TextDecoderStream()).getReader();
  await lines.read();
  return {
    begin() {
      stdin.write('\n');
      stdin.end();
    },
    async told(): Promise<Told> {
      const { value = '' } = await lines.read();
      expect(await exited).toBe(0);
      return JSON.parse(value);
    },
  };
}

test('two processes that spend one budget at once use it up without overspending, and the journal has the charges they received', async () => {
  const { url, run } = await sharedLedger();
  const spenders = await Promise.all([1, 2].map((slot) => startSpender(url, slot)));
  for (const { begin } of spenders) begin();
  const all = await Promise.all(spenders.map(({ told }) => told()));
  const [fund] = await run('SELECT spent::int, held::int FROM funds');
  const sum = (of: (told: Told) => number) => all.reduce((total, told) => total + of(told), 0);
  expect(fund).toEqual({ spent: sum(({ charged }) => charged), held: 0 });
  expect(sum(({ charged }) => charged)).toBeWithin(LIMIT * 0.9, LIMIT + 1);
  const [holds] = await run("SELECT count(*)::int FROM holds WHERE state = 'closed'");
  expect(holds).toEqual({ count: sum(({ charges }) => charges) });
  for (const { charges } of all) expect(charges).toBeGreaterThan(0);
});
