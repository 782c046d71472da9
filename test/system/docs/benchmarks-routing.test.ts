import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { routingBenchmarksPage } from '../../docs/choices-page.ts';

const PAGE = 'docs/benchmarks-routing.md';

/** With `UPDATE=1`, the test writes the tables. They take three seconds, and `npm test` compares the smaller `test/panel/choices.md`. */
test(`${PAGE} has the tables that the code generates`, async () => {
  const file = Bun.file(join(import.meta.dir, '../../..', PAGE));
  const made = await routingBenchmarksPage();
  if (process.env.UPDATE) await file.write(made);
  expect(await file.text()).toBe(made);
});
