import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Change, withRelease } from '../../deploy/changes.ts';

const HEAD = '# Changelog\n\nWhat changed.\n';
const OLD = '## 0.1.0\n\nThe first version.\n';
const usage: Change = { name: 'usage.md', text: '### Money\n\n- Usage by session.\n' };
const keys: Change = { name: 'keys.md', text: '### Keys\n\n- Keys have notes.\n- Notes are texts.\n' };

test('a release puts all changes under their themes, above the earlier releases', () => {
  const section =
    '## 1.0.0 (2026-12-01)\n\n### Money\n\n- Usage by session.\n\n### Keys\n\n- Keys have notes.\n- Notes are texts.\n';
  expect(withRelease(`${HEAD}\n${OLD}`, [usage, keys], '1.0.0', '2026-12-01')).toBe(`${HEAD}\n${section}\n${OLD}`);
});

test('a release uses the unreleased section and adds to its themes', () => {
  const unreleased =
    '## 0.2.0-dev (unreleased)\n\nRead this.\n\n### Money\n\n- Holds grow.\n\n### Policies\n\n- Teams.\n';
  const section =
    '## 0.2.0 (2026-12-01)\n\nRead this.\n\n### Money\n\n- Holds grow.\n- Usage by session.\n\n### Policies\n\n- Teams.\n\n### Keys\n\n- Keys have notes.\n- Notes are texts.\n';
  expect(withRelease(`${HEAD}\n${unreleased}\n${OLD}`, [usage, keys], '0.2.0', '2026-12-01')).toBe(
    `${HEAD}\n${section}\n${OLD}`,
  );
});

test('a link of a change leads to the same page from the changelog', () => {
  const text = '### Keys\n\n- [Keys](../docs/spend/keys.md) and [more](https://a.example/../b).\n';
  expect(withRelease(HEAD, [{ name: 'keys.md', text }], '1.0.0', '2026-12-01')).toContain(
    '- [Keys](docs/spend/keys.md) and [more](https://a.example/../b).',
  );
});

test('a change in another form is refused, and the error names its file', () => {
  for (const text of ['', '- no theme', '### Theme\nno list', '## Theme\n\n- list'])
    expect(() => withRelease(HEAD, [{ name: 'odd.md', text }], '1.0.0', '2026-12-01')).toThrow('changes/odd.md');
});

test('every file of changes/ has the form that a release needs', () => {
  const folder = join(import.meta.dir, '../../changes');
  const names = readdirSync(folder).filter((name) => name !== 'README.md');
  const changes = names.map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
  const changelog = readFileSync(join(folder, '../CHANGELOG.md'), 'utf8');
  expect(withRelease(changelog, changes, '1.0.0', '2026-12-01')).toContain('## 1.0.0 (2026-12-01)');
});
