import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf } from '../support/page-blocks.ts';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder } from '../support/signalbox.ts';

const model = (id: string, quality: number, price: number) =>
  `  ${id}: { provider: sim, price: { input: ${price}, output: ${4 * price} }, context_window: 65536, max_output: 8192, quality: { default: ${quality} } }\n`;
const BASE = `version: 2
providers: { sim: { adapter: simulated } }
models:
${model('gpt-6-luna', 0.9, 0.2)}${model('gemini-3.8-flash', 0.88, 0.2)}${model('gpt-6.1-sol', 0.95, 2)}`;
const SELECTOR = 'selectors: { auto: { strategy: auto } }\n';

const examples = blocksOf('docs/route/tiers.md').filter(({ language }) => language === 'yaml');

test('the page has examples', () => {
  expect(examples.length).toBeGreaterThan(4);
});

test.each(examples)('a policy with the example %# of the page loads, and its cases pass', async ({ text }) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'base.yaml'), BASE + (/^selectors:/m.test(text) ? '' : SELECTOR));
  writeFileSync(join(folder, 'example.yaml'), text);
  expect(await runHere(['policy', 'check', folder])).toMatchObject({ code: 0 });
  expect(await runHere(['policy', 'test', folder])).toMatchObject({ code: 0 });
});
