import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatDiagnostics } from '../../src/policy/report/diagnostics.ts';
import { tries } from '../deep/effort.ts';
import { LANGUAGE_POLICY } from './language-policy.ts';
import { loadShipped as load } from './shipped.ts';
import { shippedPolicy } from './support.ts';

/** Valid policies that cover the language. The test damages a file of each policy. */
const POLICIES: readonly (readonly string[])[] = [
  LANGUAGE_POLICY.map(({ text }) => text),
  shippedPolicy()
    .filter(({ path }) => !path.endsWith('models.yaml'))
    .map(({ text }) => text),
];
const SIGNS = [...'{}[]:,-"\'|>&*!%@`#?\\\n\t =<()é🚆0', ...'e9 << --- null true && != \u0000 \ud800'.split(' ')];

const TIMEOUT_MS = 600_000;

const damage = fc.record({
  policy: fc.constantFrom(...POLICIES),
  file: fc.nat(),
  edits: fc.array(
    fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), drop: fc.nat(12), add: fc.constantFrom('', ...SIGNS) }),
    { minLength: 1, maxLength: 4 },
  ),
});

type Damage = typeof damage extends fc.Arbitrary<infer Value> ? Value : never;

const filesOf = ({ policy, file, edits }: Damage) =>
  policy.map((text, at) => ({
    path: `${at}.yaml`,
    text: at === file % policy.length ? edits.reduce((from, edit) => apply(from, edit), text) : text,
  }));

function apply(from: string, { at, drop, add }: Damage['edits'][number]): string {
  const start = Math.floor(at * from.length);
  return from.slice(0, start) + add + from.slice(start + drop);
}

test('a mistake after an alias as the first key is reported at its location', () => {
  const { diagnostics } = load([{ path: 'a.yaml', text: '*name: per-key\n    each: key\n    rpm: 600\n' }]);
  const places = diagnostics.filter(({ code }) => code === 'yaml-syntax').map(({ line, column }) => [line, column]);
  expect(places.at(-1)).toEqual([2, 11]);
});

test(
  'a damaged policy never crashes the loader: the policy loads, or its problems have valid locations',
  () => {
    fc.assert(
      fc.property(damage, (given) => {
        const files = filesOf(given);
        const { snapshot, diagnostics } = load(files);
        expect(snapshot === null).toBe(diagnostics.some(({ severity }) => severity === 'error'));
        for (const { file, line, column, length } of diagnostics) {
          const lines = files.find(({ path }) => path === file)?.text.split('\n') ?? [];
          expect(line).toBeGreaterThanOrEqual(1);
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(length).toBeGreaterThanOrEqual(1);
          expect(column).toBeGreaterThanOrEqual(1);
          expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
        }
        expect(formatDiagnostics(diagnostics, files).length > 0).toBe(diagnostics.length > 0);
      }),
      tries('a damaged policy loads, or its problems have valid locations', 15, 1_000),
    );
  },
  TIMEOUT_MS,
);
