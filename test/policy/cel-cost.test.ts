import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { nodesOf } from '../../src/policy/cel-ast.ts';
import { costOf, EXPRESSION_STEPS_MAX } from '../../src/policy/cel-cost.ts';
import { extentsOf } from '../../src/policy/cel-extents.ts';
import { environmentOf } from '../../src/policy/cel-types.ts';
import { loadText, SMALL } from './support.ts';

const extents = extentsOf([], 8);
const stepsOf = (text: string) => costOf(environmentOf('when').parse(text).ast, 'when', extents).steps;

/** Forms of a condition that evaluate it once for each item of a list: as a macro's body, or within the operands of a method. */
const LOOPS: readonly ((list: string, name: string, body: string) => string)[] = [
  (list, name, body) => `${list}.all(${name}, ${body})`,
  (list, name, body) => `${list}.filter(${name}, ${body}).size() >= 0`,
  (list, name, body) => `size(${list}.map(${name}, ${body})) >= 0`,
  (list, name, body) => `"true".startsWith(string(${list}.all(${name}, ${body})))`,
];

/** Nested loops over literal lists, the outermost first, around comparisons. */
interface Loops {
  readonly sizes: readonly number[];
  /** The form of each. */
  readonly forms: readonly number[];
  readonly comparisons: number;
}
const loops: fc.Arbitrary<Loops> = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 6 }),
  forms: fc.array(fc.nat(LOOPS.length - 1), { minLength: 6, maxLength: 6 }),
  comparisons: fc.integer({ min: 1, max: 4 }),
});

function textOf({ sizes, forms, comparisons }: Loops): string {
  const body = Array.from({ length: comparisons }, () => 'time.hour >= 0.0').join(' && ');
  const list = (size: number) => `[${Array.from({ length: size }, (_, i) => i).join(', ')}]`;
  return sizes.reduceRight((inner, size, depth) => LOOPS[forms[depth]!]!(list(size), `v${depth}`, inner), body);
}

/** Counts the comparisons of an evaluation by running the loops. */
function countComparisons({ sizes: [size, ...inner], comparisons }: Pick<Loops, 'sizes' | 'comparisons'>): number {
  if (size === undefined) return comparisons;
  let made = 0;
  for (let turn = 0; turn < size; turn++) made += countComparisons({ sizes: inner, comparisons });
  return made;
}

/** Each comparison costs four steps: itself, `time`, its field and the figure. */
const bounds = (steps: number, given: Loops) => steps >= 4 * countComparisons(given);

describe('the cost of an expression', () => {
  test('is never below the actual work, however loops nest', () => {
    fc.assert(fc.property(loops, (given) => bounds(stepsOf(textOf(given)), given)));
  });

  test.each([
    ...['!(X)', '-double(string(X)) > 0.0', 'X ? true : false', 'true ? X : false', 'true ? true : X', 'X || true'],
    ...[
      'true && X',
      '[X].size() > 0',
      '{"a": X}.size() > 0',
      '{string(X): 1}.size() > 0',
      'X in [true]',
      'true in [X]',
    ],
    ...[
      '[true][X ? 0 : 1]',
      '[X][0]',
      'cel.bind(x, X, x)',
      'cel.bind(x, true, X)',
      '[1].exists(i, X)',
      '[X].exists(i, i)',
    ],
  ])('is that of its parts at least: %s', (form) => {
    const part = '[1, 2, 3, 4, 5, 6].all(i, [1, 2, 3, 4, 5, 6, 7, 8].all(j, i > j))';
    expect(stepsOf(form.replace('X', part))).toBeGreaterThan(stepsOf(part));
  });

  test('has that of a failure wherever one is possible, and nowhere else', () => {
    const failure = 400;
    for (const text of [
      'double(request.user) > 1.0',
      '[1, 2][request.stream ? 0 : 2] > 0',
      '1 / 0 > 1',
      '{"a": 1}.b > 0',
    ])
      expect([text, stepsOf(text) >= failure]).toEqual([text, true]);
    for (const text of ['request.user.startsWith("a")', 'request.metadata["a"] == ""', 'time.hour / 2.0 > 1.0'])
      expect([text, stepsOf(text) < failure]).toEqual([text, true]);
  });

  test('is not a plain count of the parts, which the same property refutes', () => {
    const partsOf = (text: string): number => [...nodesOf(environmentOf('when').parse(text).ast)].length;
    const law = fc.property(loops, (given) => bounds(partsOf(textOf(given)), given));
    expect(fc.check(law, { endOnFailure: true }).failed).toBe(true);
  });

  test('uses the size limits of fields that callers control', () => {
    expect(stepsOf('request.metadata.exists(k, k == "a")')).toBeGreaterThan(64);
    expect(stepsOf('request.user.contains("a")')).toBeGreaterThan(stepsOf('"abc".contains("a")'));
    expect(stepsOf('request.languages.exists(l, l in request.needs)')).toBeGreaterThan(256 * 20);
  });

  test('covers texts and lists that double their length', () => {
    const doubled = (times: number) =>
      Array.from({ length: times }).reduceRight<string>(
        (inner, _, i) => `cel.bind(v${i + 1}, v${i} + v${i}, ${inner})`,
        `v${times}`,
      );
    const twice = (from: string, times: number) => `cel.bind(v0, ${from}, ${doubled(times)})`;
    expect(stepsOf(`${twice('request.user', 16)} == ""`)).toBeGreaterThan(EXPRESSION_STEPS_MAX);
    expect(stepsOf(`1 in ${twice('[1, 2]', 16)}`)).toBeGreaterThan(EXPRESSION_STEPS_MAX);
  });

  test('is within the limit for ordinary rules', () => {
    for (const text of [
      'key.labels.department == "legal" && request.input_tokens > 20000.0',
      'time.hour >= 22.0 || time.hour < 6.0',
      'request.metadata.n != "" && double(request.metadata.n) > 3.0',
      'request.metadata.tags.split(",").exists(t, t == "beta")',
      'request.metadata.all(k, double(request.metadata[k]) > 3.0)',
      `request.user in [${Array.from({ length: 190 }, (_, i) => `"u${i}"`).join(', ')}]`,
      Array.from({ length: 60 }, () => 'request.task != "coding"').join(' && '),
    ]) {
      expect(stepsOf(text)).toBeLessThanOrEqual(EXPRESSION_STEPS_MAX);
    }
  });

  test('excludes durations of callers’ texts, which are parsed in cubic time', () => {
    const cubic = (text: string) =>
      loadText(`${SMALL}constraints: [{ name: r, max_cost_credits: 1, when: '${text}' }]\n`);
    expect(cubic('duration(request.metadata.d) > duration("1h")').diagnostics).toMatchObject([
      { code: 'cel-too-costly' },
    ]);
    expect(cubic('duration("1s") > duration("1h") || request.stream').diagnostics).toEqual([]);
  });
});

describe('all expressions of a policy together', () => {
  const rule = (name: string) =>
    `  - { name: ${name}, max_cost_credits: 1, when: 'request.user.split("").exists(t, t == "zz")' }\n`;
  const rules = (count: number) => Array.from({ length: count }, (_, i) => rule(`r${i}`)).join('');

  test('have a limit for each request, and the costliest one is reported', () => {
    expect(loadText(`${SMALL}constraints:\n${rules(20)}`).diagnostics).toEqual([]);
    const { snapshot, diagnostics } = loadText(`${SMALL}constraints:\n${rules(30)}`);
    expect(snapshot).toBeNull();
    expect(diagnostics).toMatchObject([{ code: 'cel-too-costly', line: 15, column: 45 }]);
  });

  test('have a limit for the catalog', () => {
    const models = Array.from(
      { length: 300 },
      (_, i) =>
        `  m${i}: { provider: sim, price: { input: 1, output: 1 }, context_window: 9, max_output: 9, quality: { default: 0.5 } }\n`,
    );
    const list = `[${Array.from({ length: 30 }, (_, i) => i).join(', ')}]`;
    const costly = Array.from(
      { length: 20 },
      (_, i) => `  - { name: r${i}, require: '${list}.all(a, ${list}.all(b, b >= 0))' }\n`,
    );
    const text = SMALL.replace('models:\n', `models:\n${models.join('')}`);
    expect(loadText(text).diagnostics).toEqual([]);
    expect(loadText(`${text}constraints:\n${costly.join('')}`).diagnostics).toMatchObject([{ code: 'cel-too-costly' }]);
    // No rule is evaluated then, to say that it matches nothing, either.
    const idle = 'preferences: [{ name: idle, prefer: model.price.input > 9999.0, worth: 1 }]\n';
    expect(loadText(`${text}${idle}`).diagnostics).toMatchObject([{ code: 'prefers-none' }]);
    expect(loadText(`${text}${idle}constraints:\n${costly.join('')}`).diagnostics).toMatchObject([
      { code: 'cel-too-costly' },
    ]);
  });
});
