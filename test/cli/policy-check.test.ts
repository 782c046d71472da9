import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GOLDEN } from '../policy/golden.ts';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';

/** `signalbox policy check` on mistakes that newcomers make: each message leads to the mend. */
const MISTAKES: readonly (readonly [golden: string, place: string, mend: string])[] = [
  ['yaml-open-quote-above-others', 'p.yaml:3:11', 'end the text with `"`'],
  ['yaml-open-quote-ends-at-the-next', 'p.yaml:2:11', 'end the text with `"` on this line'],
  ['yaml-no-space-after-colon', 'p.yaml:4:5', 'write `window: day`'],
  ['yaml-no-space-after-colon-in-braces', 'p.yaml:2:41', 'write `window: day`'],
  ['address-of-a-variable', 'p.yaml:2:48', 'write `base_url_env: UPSTREAM_URL`'],
  ['yaml-variable-without-quotes', 'p.yaml:2:48', 'write `base_url_env: UPSTREAM_URL`'],
  ['address-without-scheme', 'p.yaml:2:48', 'write `https://api.example.com/v1`'],
  ['cel-field-of-the-caller', 'p.yaml:3:11', 'write `key.labels.department`'],
  ['model-with-fallbacks', 'p.yaml:8:5', 'Signalbox ranks the fallbacks of each request itself'],
  ['yaml-anchor-and-alias', 'p.yaml:1:18', 'remove `&w`'],
  ['yaml-markdown-fence', 'p.yaml:1:1', 'remove the lines 1 and 3'],
];

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const MENDED: Readonly<Record<string, string>> = { 'base.yaml': readFileSync(join(GOLDEN, 'base.yaml'), 'utf8') };

describe('signalbox policy check', () => {
  test.each(MISTAKES)('%s: shows the place and the mend', async (golden, place, mend) => {
    const folder = writePolicy({ ...MENDED, 'p.yaml': readFileSync(join(GOLDEN, golden, 'p.yaml'), 'utf8') });
    folders.push(folder);
    const { out, code } = await runHere(['policy', 'check', folder]);
    expect(code).toBe(2);
    expect(out).toContain(place);
    expect(out).toContain(mend);
  });
});
