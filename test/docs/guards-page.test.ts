import { expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { temporaryFolder } from '../support/signalbox.ts';

const page = (path: string) => readFileSync(join(import.meta.dir, '../../docs', path), 'utf8');
const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);

const BASE = `version: 1
providers: { sim: { adapter: simulated } }
models:
  tiny: { provider: sim, price: { input: 1, output: 1 }, context_window: 8192, max_output: 2048, quality: { default: 0.5 }, regions: [eu] }
`;

test('a policy with the examples of docs/policies/guards.md loads without a warning, and its cases pass', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'base.yaml'), BASE);
  const blocks = blocksOf(page('policies/guards.md'), 'yaml');
  for (const [at, block] of blocks.entries()) writeFileSync(join(folder, `example-${at}.yaml`), block);
  expect(blocks.length).toBeGreaterThan(3);
  expect(await runHere(['policy', 'check', folder])).toMatchObject({ code: 0 });
  expect(await runHere(['policy', 'test', folder])).toMatchObject({ code: 0 });
});

test('the guard of docs/extend/guards.md keeps every law', async () => {
  const folder = temporaryFolder();
  const [code = ''] = blocksOf(page('extend/guards.md'), 'ts');
  mkdirSync(join(folder, 'order-numbers'));
  const file = join(folder, 'order-numbers/index.ts');
  writeFileSync(file, code);
  const { code: exit, out } = await runHere(['plugin', 'test', file, '--runs', '50', '--seed', '1']);
  expect([exit, out]).toEqual([0, expect.any(String)]);
});
