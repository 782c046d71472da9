import { expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  canonicalLanguage,
  isCodeLanguage,
  isKnownLanguage,
  knownLanguages,
} from '../../../src/core/request/languages.ts';
import { linguistEntries, linguistTable } from '../support/linguist-table.ts';

const FILE = join(import.meta.dir, '../../../src/core/request/linguist.ts');

test('the table of languages is generated from the package, and `UPDATE=1` writes the table', async () => {
  const table = await linguistTable();
  if (Bun.env.UPDATE) await Bun.write(FILE, table);
  expect(await Bun.file(FILE).text()).toBe(table);
});

test('the table knows every language of the package by its name and aliases', () => {
  const unknown = linguistEntries().flatMap(({ names }) => names.filter((name) => !isKnownLanguage(name)));
  expect(unknown).toEqual([]);
});

test('a name means a single language: if Signalbox’s name and Linguist’s name differ, Signalbox’s name applies', () => {
  const owners = Map.groupBy(
    linguistEntries().flatMap(({ names }) => names.map((name) => ({ name, language: names[0]! }))),
    ({ name }) => name,
  );
  const shared = [...owners].filter(([, all]) => new Set(all.map(({ language }) => language)).size > 1);
  expect(shared.map(([name]) => name)).toEqual([]);
  const moved = linguistEntries().flatMap(({ names }) =>
    names
      .filter((name) => canonicalLanguage(name) !== canonicalLanguage(names[0]!))
      .map((name) => `${name}: ${canonicalLanguage(name)}, not ${names[0]}`),
  );
  expect(moved).toEqual([]);
});

test('a canonical name maps to itself and has no capital letter', () => {
  const all = [...knownLanguages()];
  expect(all.length).toBeGreaterThan(600);
  expect(all.filter((name) => canonicalLanguage(name) !== name || name !== name.toLowerCase())).toEqual([]);
});

test.each([
  ['js', 'javascript'],
  ['Node.js', 'javascript'],
  ['golang', 'go'],
  ['C++', 'cpp'],
  [' c# ', 'csharp'],
  ['Py', 'python'],
  ['TS', 'typescript'],
  ['Visual  Basic', 'visualbasic'],
  ['SCSS', 'scss'],
  ['Common Lisp', 'common lisp'],
  ['common-lisp', 'common lisp'],
  ['terraform', 'hcl'],
  ['docker', 'dockerfile'],
  ['Rscript', 'r'],
  ['zsh', 'bash'],
  ['shell-script', 'bash'],
  ['posh', 'powershell'],
  ['Objective-C', 'objectivec'],
  ['TSX', 'typescript'],
  ['vbnet', 'visualbasic'],
  ['latex', 'tex'],
  ['brainfuck', 'brainfuck'],
])('%s is %s', (name, canonical) => {
  expect(canonicalLanguage(name)).toBe(canonical);
  expect(isKnownLanguage(name)).toBe(true);
});

test('prose and formats that are not for programs are not languages', () => {
  for (const name of ['text', 'markdown', 'klingon', '', '__proto__', 'constructor'])
    expect(isKnownLanguage(name)).toBe(false);
});

test('data formats are known but do not count as code', () => {
  for (const name of ['json', 'csv', 'xml', 'toml', 'latex']) {
    expect(isKnownLanguage(name)).toBe(true);
    expect(isCodeLanguage(name)).toBe(false);
  }
  for (const name of ['html', 'css', 'sql', 'yaml', 'graphql', 'dockerfile', 'scss', 'powershell'])
    expect(isCodeLanguage(name)).toBe(true);
});
