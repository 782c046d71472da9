import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatDiagnostics } from '../../src/policy/report/diagnostics.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { loadText, SMALL } from './support.ts';

/** Small files that are expensive to parse: nested, repeated or self-referential. */
const BOMBS: Readonly<Record<string, (size: number) => string>> = {
  'open lists': (size) => `tasks: ${'['.repeat(size)}`,
  'lists in lists': (size) => `tasks: ${'['.repeat(size)}${']'.repeat(size)}`,
  'maps in maps': (size) => `tasks: ${'{a: '.repeat(size)}1${'}'.repeat(size)}`,
  'options in options': (size) =>
    `selectors: { s: { strategy: auto, options: { a: ${'['.repeat(size)}${']'.repeat(size)} } } }`,
  items: (size) => `tasks:\n  ${'- '.repeat(size)}1`,
  'complex keys': (size) => `tasks:\n  ${'? '.repeat(size)}1`,
  indentation: (size) => Array.from({ length: Math.min(size, 1200) }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
  tags: (size) => `tasks: [${'!x 1, '.repeat(size)}]`,
  'tags in tags': (size) => `tasks: ${'!x ['.repeat(size)}${']'.repeat(size)}`,
  anchors: (size) => `tasks: [${Array.from({ length: size }, (_, i) => `&a${i} 1`).join(', ')}]`,
  aliases: (size) => `tasks: &a [1]\nmodels: [${'*a, '.repeat(size)}]`,
  'aliases of aliases': (size) =>
    `${Array.from({ length: Math.min(size, 30) }, (_, i) => `k${i}: &k${i} [${`*k${i - 1}, `.repeat(i === 0 ? 0 : 9)}]`).join('\n')}`,
  'one key repeated many times': (size) => `tasks: {${'a: 1, '.repeat(size)}}`,
  escapes: (size) => `baseline: "${'\\x41'.repeat(size)}"`,
  digits: (size) => `baseline: ${'9'.repeat(size)}`,
  quotes: (size) => `baseline: ${'"'.repeat(size)}`,
  tabs: (size) => '\t- : [\n'.repeat(Math.min(size, 20_000)),
};
const SIZES = isDeep ? [100, 4_000, 20_000, 100_000] : [100, 2_000, 5_000];

test('a small file that is expensive to parse is refused in time, at a valid location', () => {
  const { runs, seed, proved } = effort('expressions', 2, 400);
  let characters = 0;
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(BOMBS)), fc.constantFrom(...SIZES), (kind, size) => {
      const text = `${SMALL}${BOMBS[kind]?.(size)}\n`;
      characters = Math.max(characters, text.length);
      const { snapshot, diagnostics } = loadText(text);
      expect(snapshot).toBeNull();
      const lines = text.split('\n');
      for (const { line, column } of diagnostics.slice(0, 100)) {
        expect(line).toBeWithin(1, lines.length + 1);
        expect(column).toBeWithin(1, (lines[line - 1] ?? '').length + 2);
      }
      expect(formatDiagnostics(diagnostics.slice(0, 100), [{ path: 'p.yaml', text }])).not.toBe('');
    }),
    { numRuns: runs, seed },
  );
  proved(`${runs} files of up to ${characters.toLocaleString('en')} characters, of ${Object.keys(BOMBS).length} kinds`);
});
