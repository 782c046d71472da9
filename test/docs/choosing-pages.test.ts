import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOf } from '../support/page-blocks.ts';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder } from '../support/signalbox.ts';

const model = (id: string, quality: number, price: number) =>
  `  ${id}: { provider: sim, price: { input: ${price}, output: ${4 * price} }, context_window: 65536, max_output: 8192, quality: { default: ${quality} } }\n`;
const BASE = `version: 1
providers: { sim: { adapter: simulated } }
models:
${model('gpt-6-luna', 0.9, 0.2)}${model('gemini-3.8-flash', 0.88, 0.2)}${model('gpt-6.1-sol', 0.95, 2)}`;
const SELECTOR = 'selectors: { auto: { strategy: auto } }\n';

const PAGES = ['how-a-model-is-chosen', 'escalation', 'aliases'];
const examples = PAGES.flatMap((page) =>
  blocksOf(`docs/route/${page}.md`)
    .filter(({ language }) => language === 'yaml')
    .map(({ text }, at) => ({ page, at, text })),
);

test.each(PAGES)('%s has examples', (name) => {
  expect(examples.filter(({ page }) => page === name)).not.toBeEmpty();
});

test.each(examples)('a policy with the example $at of $page loads, and its cases pass', async ({ text }) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'base.yaml'), BASE + (/^selectors:/m.test(text) ? '' : SELECTOR));
  writeFileSync(join(folder, 'example.yaml'), text);
  expect(await runHere(['policy', 'check', folder])).toMatchObject({ code: 0 });
  expect(await runHere(['policy', 'test', folder])).toMatchObject({ code: 0 });
});
