import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Report } from '../../../src/policy/report/report.ts';
import { readPlainYaml } from '../../../src/policy/yaml/plain.ts';
import { readYaml } from '../../../src/policy/yaml/reader.ts';
import { NESTING_MAX, type Tree } from '../../../src/policy/yaml/tree.ts';
import { tries } from '../../deep/effort.ts';
import { LANGUAGE_POLICY } from '../language-policy.ts';
import { shippedPolicy } from '../support.ts';

type Reader = typeof readPlainYaml;

const POLICIES = [...LANGUAGE_POLICY, ...shippedPolicy()].map(({ text }) => text ?? '');

const NODES = [
  'a',
  'd e',
  'x:y',
  'a#b',
  'é 🚆',
  '"q"',
  '"q: r"',
  '"\\n"',
  '""',
  "'s'",
  "'it''s'",
  '[a, b]',
  '{ a: 1 }',
];
const VALUES = ['1', '007', '-0', '.5', '1.', '1e3', '0x1f', '9'.repeat(20), '2026-01-02', '~', 'null', 'true', '.inf'];
const SIGNS = [
  ': ',
  ':',
  '- ',
  '- - ',
  '-',
  '{',
  '}',
  '[',
  ']',
  ', ',
  ',',
  ' ',
  '  ',
  ' # c',
  '#x',
  '"',
  "'",
  '\t',
  '\r',
];
const FEATURES = ['&a ', '*a', '!t ', '? ', '<<', '|', '>', '---', '...', '%', '@', '\u2028', '\u00a0', 'a: b', 'a: '];

const line = fc
  .record({
    indent: fc.constantFrom(0, 0, 0, 1, 2, 2, 3, 4),
    parts: fc.array(fc.constantFrom(...NODES, ...VALUES, ...SIGNS, ...FEATURES), { maxLength: 4 }),
  })
  .map(({ indent, parts }) => ' '.repeat(indent) + parts.join(''));

/** A few lines of random text, or a policy with a character inserted somewhere. */
const text = fc.oneof(
  fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n')),
  fc
    .record({
      policy: fc.constantFrom(...POLICIES),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      sign: fc.constantFrom('', '\n', ...NODES, ...SIGNS, ...FEATURES),
    })
    .map(({ policy, at, sign }) => {
      const start = policy.lastIndexOf('\n', at * policy.length) + 1;
      const middle = Math.floor(at * policy.length);
      return `${policy.slice(start, middle)}${sign}${policy.slice(middle, start + 400)}`;
    }),
);

/**
 * The law: if the reader accepts a text, the text is valid and the tree equals the library's tree, with the same values, sources and
 * locations.
 */
const agreesWithLibrary = (read: Reader) =>
  fc.property(text, (given) => {
    const tree = read('a.yaml', given);
    if (tree === null) return;
    const report = new Report();
    expect(tree).toStrictEqual(readYaml('a.yaml', given, report)!);
    expect(report.found).toEqual([]);
  });

const changed =
  (change: (tree: Tree) => Tree): Reader =>
  (file, given) => {
    const deep = (tree: Tree): Tree => {
      if (tree.kind === 'map')
        return { ...tree, entries: tree.entries.map((one) => ({ ...one, value: deep(one.value) })) };
      return tree.kind === 'list' ? { ...tree, items: tree.items.map(deep) } : change(tree);
    };
    const tree = readPlainYaml(file, given);
    return tree && deep(tree);
  };

const MUTANTS: readonly (readonly [what: string, read: Reader])[] = [
  [
    'reads a quoted number as a number',
    changed((one) => (one.kind === 'scalar' && one.value === 'q' ? { ...one, value: 1 } : one)),
  ],
  [
    'loses the zeros of a decimal',
    changed((one) => (one.kind === 'scalar' ? { ...one, source: one.source.replace(/^0+/, '') } : one)),
  ],
  [
    'locates a value one column too far right',
    changed((one) => ({ ...one, place: { ...one.place, column: one.place.column + 1 } })),
  ],
  ['passes over anchors', (file, given) => readPlainYaml(file, given.replaceAll('&a ', '   '))],
  ['accepts tabs as spaces', (file, given) => readPlainYaml(file, given.replaceAll('\t', ' '))],
  ['accepts a comment without a space before it', (file, given) => readPlainYaml(file, given.replaceAll('#x', ' #x'))],
];

describe('the plain reader', () => {
  const law = 'a policy that the plain reader accepts has exactly the tree of the YAML library';
  test(law, () => fc.assert(agreesWithLibrary(readPlainYaml), tries(law, 1_000, 100_000)));

  for (const [what, read] of MUTANTS) {
    test(`the law detects a reader that ${what}`, () => {
      expect(fc.check(agreesWithLibrary(read), { endOnFailure: true, numRuns: 20_000 })).toMatchObject({
        failed: true,
      });
    });
  }

  test('the plain reader accepts every file of the shipped policy and most of the language', () => {
    for (const { path, text } of shippedPolicy())
      expect([path, readPlainYaml(path, text ?? '')?.kind]).toEqual([path, 'map']);
    expect(LANGUAGE_POLICY.filter(({ path, text }) => readPlainYaml(path, text) !== null).length).toBeGreaterThan(7);
  });

  test('the plain reader leaves texts to the library that are nested deeper than a policy may be', () => {
    const nested = (levels: number) => `a: ${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect(readPlainYaml('a.yaml', nested(NESTING_MAX - 2))).not.toBeNull();
    for (const levels of [NESTING_MAX, 100_000]) expect(readPlainYaml('a.yaml', nested(levels))).toBeNull();
  });
});
