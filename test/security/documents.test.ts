import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadText, SMALL } from '../policy/support.ts';

test.each(['addresses', 'privacy'])('docs/operate/%s.md shows valid policies', (page) => {
  const text = readFileSync(join(import.meta.dir, '../../docs/operate', `${page}.md`), 'utf8');
  const [, yaml = ''] = /^```yaml policy\n([\s\S]*?)^```$/m.exec(text) ?? [];
  expect(yaml).not.toBeEmpty();
  const { diagnostics, snapshot } = loadText(`${SMALL}${yaml}`);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(snapshot).not.toBeNull();
});
