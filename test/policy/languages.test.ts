import { expect, test } from 'bun:test';
import { canonicalLanguage } from '../../src/core/languages.ts';

test.each([
  ['js', 'javascript'],
  ['Node.js', 'javascript'],
  ['golang', 'go'],
  ['C++', 'cpp'],
  [' c# ', 'csharp'],
  ['Py', 'python'],
  ['TS', 'typescript'],
  ['Visual  Basic', 'visualbasic'],
  ['Brainfuck', 'brainfuck'],
])('%s is %s', (name, canonical) => {
  expect(canonicalLanguage(name)).toBe(canonical);
});

test('a canonical name maps to itself', () => {
  for (const name of ['javascript', 'cpp', 'csharp', 'go', 'r', 'c']) expect(canonicalLanguage(name)).toBe(name);
});
