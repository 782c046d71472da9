import { expect, test } from 'bun:test';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM, runToEnd, temporaryFolder } from '../support/signalbox.ts';

const page = readFileSync(join(import.meta.dir, '../../docs/policies/testing.md'), 'utf8');
/** The policy that the cases of the page test. */
const MODELS = `version: 1
providers:
  far: { adapter: openai, api_key_env: OPENAI_API_KEY }
  near: { adapter: openai, base_url: "https://eu.api.openai.com/v1", api_key_env: OPENAI_EU_API_KEY }
models:
  large:
    endpoints:
      - { provider: far, regions: [us] }
      - { provider: near, regions: [eu] }
    price: { input: 1.25, output: 10, as_of: 2026-11-01, basis: vendor-list }
    context_window: 400000
    max_output: 128000
    quality: { default: 0.8, basis: guessed }
  small:
    provider: far
    price: { input: 0.25, output: 2, as_of: 2026-11-01, basis: vendor-list }
    context_window: 400000
    max_output: 128000
    quality: { default: 0.7, basis: guessed }
selectors:
  auto: { strategy: auto }
  auto-cheap: { strategy: auto-cheap, options: { margin: 0.25 } }
constraints:
  - name: legal-stays-in-the-eu
    when: key.labels.department == "legal"
    require: '"eu" in endpoint.regions'

`;

const block = (info: string): string => page.split(`\`\`\`${info}\n`)[1]!.split('```')[0]!;

test('the example of the page has the result that the page shows', async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, 'policies'));
  writeFileSync(join(home, 'policies/models.yaml'), MODELS);
  writeFileSync(join(home, 'policies/cases.yaml'), block('yaml example'));
  const { code, out, err } = await runToEnd([PROGRAM, 'policy', 'test', 'policies', '--data', home], {}, home);
  rmSync(home, { recursive: true, force: true });
  expect(err).toBe('');
  expect(out).toBe(block('text output'));
  expect(code).toBe(2);
});
