import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Change, withRelease } from '../../deploy/changes.ts';

const HEAD = '# Changelog\n\nWhat changed.\n';
const OLD = '## 0.1.0\n\nThe first version.\n';
const usage: Change = { name: 'usage.md', text: '### Money\n\n- Usage by session.\n' };
const keys: Change = { name: 'keys.md', text: '### Keys and people\n\n- Keys have notes.\n- Notes are texts.\n' };

test('a release puts all changes under their themes, above the earlier releases', () => {
  const section =
    '## 1.0.0 (2026-12-01)\n\n### Money\n\n- Usage by session.\n\n### Keys and people\n\n- Keys have notes.\n- Notes are texts.\n';
  expect(withRelease(`${HEAD}\n${OLD}`, [usage, keys], '1.0.0', '2026-12-01')).toBe(`${HEAD}\n${section}\n${OLD}`);
});

test('a release uses the unreleased section and adds to its themes', () => {
  const unreleased =
    '## 0.2.0-dev (unreleased)\n\nRead this.\n\n### Money\n\n- Holds grow.\n\n### Policies\n\n- Teams.\n';
  const section =
    '## 0.2.0 (2026-12-01)\n\nRead this.\n\n### Money\n\n- Holds grow.\n- Usage by session.\n\n### Keys and people\n\n- Keys have notes.\n- Notes are texts.\n\n### Policies\n\n- Teams.\n';
  expect(withRelease(`${HEAD}\n${unreleased}\n${OLD}`, [usage, keys], '0.2.0', '2026-12-01')).toBe(
    `${HEAD}\n${section}\n${OLD}`,
  );
});

test('a file with several themes adds to each, and a release has each theme once, in the order of the list', () => {
  const both: Change = {
    name: 'both.md',
    text: '### Speed\n\n- Notes are fast.\n\n### Money\n\n- [Notes](../docs/a.md) cost.\n',
  };
  const twice: Change = { name: 'twice.md', text: '### Money\n\n- One.\n\n### Money\n\n- Two.\n' };
  const section =
    '## 1.0.0 (2026-12-01)\n\n### Money\n\n- [Notes](docs/a.md) cost.\n- One.\n- Two.\n- Usage by session.\n\n### Speed\n\n- Notes are fast.\n';
  expect(withRelease(`${HEAD}\n${OLD}`, [both, twice, usage], '1.0.0', '2026-12-01')).toBe(
    `${HEAD}\n${section}\n${OLD}`,
  );
});

test('a theme that is not in the list is refused, and the error names its file and the themes', () => {
  const odd: Change = { name: 'odd.md', text: '### Money\n\n- One.\n\n### Coins\n\n- Two.\n' };
  expect(() => withRelease(HEAD, [odd], '1.0.0', '2026-12-01')).toThrow(/changes\/odd\.md: .*`Coins`.*Money, /);
  const unreleased = `${HEAD}\n## 0.2.0-dev (unreleased)\n\n### Coins\n\n- Two.\n`;
  expect(() => withRelease(unreleased, [usage], '1.0.0', '2026-12-01')).toThrow(/CHANGELOG\.md: .*`Coins`/);
});

test('a link of a change leads to the same page from the changelog', () => {
  const text = '### Keys and people\n\n- [Keys](../docs/spend/keys.md) and [more](https://a.example/../b).\n';
  expect(withRelease(HEAD, [{ name: 'keys.md', text }], '1.0.0', '2026-12-01')).toContain(
    '- [Keys](docs/spend/keys.md) and [more](https://a.example/../b).',
  );
});

test('a change in another form is refused, and the error names its file', () => {
  for (const text of ['', '- no theme', '### Money\nno list', '## Money\n\n- list', 'text\n\n### Money\n\n- list'])
    expect(() => withRelease(HEAD, [{ name: 'odd.md', text }], '1.0.0', '2026-12-01')).toThrow('changes/odd.md: start');
});

test('every file of changes/ has the form that a release needs', () => {
  const folder = join(import.meta.dir, '../../changes');
  const names = readdirSync(folder).filter((name) => name !== 'README.md');
  const changes = names.map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
  const changelog = readFileSync(join(folder, '../CHANGELOG.md'), 'utf8');
  expect(withRelease(changelog, changes, '1.0.0', '2026-12-01')).toContain('## 1.0.0 (2026-12-01)');
});
