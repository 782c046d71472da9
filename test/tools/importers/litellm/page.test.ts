import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { imported } from './support.ts';

test('docs/policies/importing.md shows the actual output of its example', () => {
  const page = readFileSync(join(import.meta.dir, '../../../../docs/policies/importing.md'), 'utf8');
  const [config = '', ...parts] = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
  const all = imported(config)
    .files.map(({ text }) => text)
    .join('\n');
  expect(parts.length).toBeGreaterThan(2);
  for (const part of parts) expect(all).toContain(part.trimEnd());
});
