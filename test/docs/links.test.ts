import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { brokenGuideIn, brokenIn, Repo } from './links.ts';

/**
 * The links and paths of every page of the repository lead to something that exists: files, headings, images, and paths in the text. The
 * test downloads nothing.
 */
const ROOT = join(import.meta.dir, '../..');
const repo = new Repo(ROOT, new Set(['node_modules', '.git', '.signalbox', 'dist']));

const PAGES = repo.filesLike('**/*.md');

test('the test checks every page', () => {
  for (const page of ['README.md', 'CHANGELOG.md', 'docs/policies/language.md', 'deploy/README.md'])
    expect(PAGES).toContain(page);
});

test.each(PAGES)('every link and path of %s leads to something that exists', (page) => {
  expect(brokenIn(page, repo.text(page), repo)).toEqual([]);
});

test('messages of the program and comments of the shipped policy name pages and headings that a server has', () => {
  const files = ['policies/*.yaml', 'src/**/*.{ts,tsx,json}'].flatMap((pattern) => repo.filesLike(pattern));
  expect(files).toContain('policies/signalbox.yaml');
  expect(files).toContain('src/routing/model-name.ts');
  expect(files.flatMap((file) => brokenGuideIn(file, repo.text(file), repo))).toEqual([]);
  const text = 'see /docs/guide/no.md, /docs/guide/start.md#no and /docs/guide/start.md#install.';
  expect(brokenGuideIn('a.yaml', text, repo)).toEqual([
    'a.yaml: /docs/guide/no.md is not there',
    'a.yaml: /docs/guide/start.md#no is not there',
  ]);
});

test('the check finds a wrong link or path of each kind', () => {
  const page = `
# Some \`code\` & more

[here](#some-code--more) [there](glossary.md) [up](../README.md) [a folder](decisions/) [web](https://example.com/a)
![a curve](routing/curve-mmlu-pro-6.svg) \`src/policy/load.ts\` \`core/money/price.ts\` \`src/policy/schema/*.ts\` \`policies/mine.yaml\`
\`text/plain\` [by reference][known] \`test/policy/golden\` \`test/policy/fuzz\` <a href="../LICENSE">so</a>

[known]: start.md

[one](no-such-page.md)
- [two](Glossary.md)
- a list with [three](#no-such-heading)

| a | [four](start.md#no-such-heading) |
| - | - |
| b | ![five](routing/no-such-curve.svg) |

> [six](../../outside.md) [seven](http://example.com/) [eight](/docs/start.md)

[nine][nobody] and <img src="no-such.png"> and \`src/policy/no-such.ts\` and **\`core/no-such.ts\`** and \`src/no-such/*.ts\`
and \`test/policy/no-such\`
`;
  const found = brokenIn('docs/mutant.md', page, repo);
  expect(found.map((problem) => problem.replace('docs/mutant.md: ', ''))).toEqual([
    'no-such-page.md is not there',
    'Glossary.md is not there',
    '#no-such-heading names no heading of docs/mutant.md',
    'start.md#no-such-heading names no heading of docs/start.md',
    'routing/no-such-curve.svg is not there',
    '../../outside.md leads out of the repo',
    'http://example.com/ is no https address',
    '/docs/start.md begins at no folder of the repo',
    '[nine][nobody] is a reference that is not defined',
    'no-such.png is not there',
    '`src/policy/no-such.ts` is not there',
    '`core/no-such.ts` is not there',
    '`src/no-such/*.ts` is not there',
    '`test/policy/no-such` is not there',
  ]);
});
