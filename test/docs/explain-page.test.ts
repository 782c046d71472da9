import { expect, test } from 'bun:test';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { writePolicy } from '../support/signalbox.ts';

const ROOT = join(import.meta.dir, '../..');
const RULE = `constraints:
  - { name: legal-stays-off-flash, when: key.labels.team == "legal", require: '!("fast" in model.tags)' }
`;

test('docs/route/explain.md shows what its command prints', async () => {
  const page = readFileSync(join(ROOT, 'docs/route/explain.md'), 'utf8');
  const [, flags = '', shown = ''] =
    /^```text\n\$ \.\/signalbox policy explain \.\/policies (.+)\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const folder = writePolicy({ 'policy.yaml': '' });
  try {
    cpSync(join(ROOT, 'policies'), folder, { recursive: true });
    rmSync(join(folder, 'policy.yaml'));
    writeFileSync(join(folder, 'rules.yaml'), RULE);
    const { out, code } = await runHere(['policy', 'explain', folder, ...flags.split(' '), '--data', folder]);
    expect(code).toBe(0);
    // The page omits the providers without a key, and data that this test does not know.
    const [told = ''] = out.split('\nProviders that cannot serve here');
    expect(words(told)).toBe(words(shown));
    const table = (text: string) => text.slice(0, text.lastIndexOf('(rules.yaml:2)\n\n'));
    expect(table(told)).toBe(table(shown));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** The page has shorter lines, so line breaks are ignored. */
const words = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');
