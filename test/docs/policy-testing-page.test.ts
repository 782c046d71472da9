import { expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MAIN, runToEnd, temporaryFolder } from '../support/signalbox.ts';

const page = readFileSync(join(import.meta.dir, '../../docs/policy-testing.md'), 'utf8');
const block = (info: string): string => page.split(`\`\`\`${info}\n`)[1]!.split('```')[0]!;

test('the example of the page comes out as the page shows it', async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, 'policies'));
  writeFileSync(join(home, 'policies/policy.yaml'), block('yaml example'));
  const { code, out, err } = await runToEnd([MAIN, 'policy', 'test', 'policies', '--data', home], {}, home);
  rmSync(home, { recursive: true, force: true });
  expect(err).toBe('');
  expect(out).toBe(block('text output'));
  expect(code).toBe(2);
});
