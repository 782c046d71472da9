import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { holds } from '../../src/core/policy/condition.ts';
import type { RuleScope } from '../../src/core/policy/rules.ts';
import { EMPTY_REQUEST } from '../../src/policy/cel/trials.ts';
import { effort } from '../deep/effort.ts';
import { inTime } from '../support/in-time.ts';
import { load, SMALL } from './support.ts';

/** Timeout for evaluating random texts as expressions. */

const TIMEOUT_MS = 600_000;

/** Every key of the policy that takes an expression. */
const KEYS: readonly ((written: string) => string)[] = [
  (text) => `constraints: [{ name: r, max_cost_credits: 1, when: ${text} }]`,
  (text) => `constraints: [{ name: r, require: ${text} }]`,
  (text) => `preferences: [{ name: r, prefer: ${text}, worth: 0.1 }]`,
  (text) => `selectors: { mine: { strategy: auto, models: { require: ${text} } } }`,
  (text) => `budgets: [{ name: b, limit_credits: 1, window: day, match: ${text} }]`,
  (text) => `budgets: [{ name: b, limit_credits: 1, window: day, each: ${text} }]`,
  (text) => `rate_limits: [{ name: l, requests_per_minute: 1, match: ${text} }]`,
  (text) => `rate_limits: [{ name: l, requests_per_minute: 1, each: ${text} }]`,
  (text) => `records: { content: { keep: [prompt], match: ${text} } }`,
];

const TOKENS = [
  ...'!-+*/%<>()[]{}.,:?&|="\'`\\ \n',
  ...`&& || == in true null 1 2.5 9u 0x 1e9 "a" b"a" r"\\" """ // é 🚆 \u0000`.split(' '),
  ...'request.user request.metadata request.needs key.labels model.tags endpoint.regions time.hour a'.split(' '),
  ...'size( double( duration( timestamp( bytes( .json() .join() .matches( has( dyn( type('.split(' '),
  ...['.getHours("Europe/Berlin")', '.split("")', '[1, 2, 3]', 'cel.bind(a, '],
  ...['.all(a, ', '.map(a, ', '.filter(a, ', '.exists_one(a, '],
];
/** The opening and the closing text of one nested level. */
const NESTS: readonly (readonly [string, string])[] = [
  ['!', ''],
  ['-', ''],
  ['! -', ''],
  ['(', ')'],
  ['[', ']'],
  ['{"a": ', '}'],
  ['true ? true : ', ''],
  ['true ? ', ' : true'],
  ['size(', ')'],
  ['cel.bind(a, 1, ', ')'],
  ['[1, 2, 3].all(a, ', ')'],
  ['request.needs.map(a, ', ')'],
  ['request.metadata.exists(a, ', ')'],
  ['"a" + ', ''],
  ['true && ', ''],
];
const AFTER = ['.b', '[0]', '.size()', '["a"]'];

const tokens = fc.array(fc.constantFrom(...TOKENS), { maxLength: 40 }).map((parts) => parts.join(''));
const depth = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(400, 3_000, 12_000, 60_000));
const nested = fc
  .tuple(fc.constantFrom(...NESTS), depth, tokens)
  .map(([[open, close], times, inner]) => `${open.repeat(times)}${inner}${close.repeat(times)}`);
const chained = fc
  .tuple(tokens, fc.constantFrom(...AFTER), depth)
  .map(([inner, after, times]) => inner + after.repeat(times));
/** Well-typed expressions of every size. The loader accepts most of the expressions. */
const { truth } = fc.letrec<Record<'truth' | 'text' | 'list' | 'figure', string>>((tie) => ({
  truth: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('true', 'request.stream', 'request.task == "coding"'),
    fc.tuple(tie('text'), fc.constantFrom('==', '!=', '<'), tie('text')).map((parts) => `(${parts.join(' ')})`),
    fc.tuple(tie('figure'), fc.constantFrom('>', '<='), tie('figure')).map((parts) => `(${parts.join(' ')})`),
    fc.tuple(tie('text'), fc.constantFrom('contains', 'startsWith'), tie('text')).map(([a, f, b]) => `${a}.${f}(${b})`),
    fc.tuple(tie('list'), fc.constantFrom('all', 'exists'), tie('truth')).map(([l, f, t]) => `${l}.${f}(a, ${t})`),
    fc.tuple(tie('text'), tie('list')).map(([text, list]) => `(${text} in ${list})`),
    fc.tuple(tie('truth'), fc.constantFrom('&&', '||'), tie('truth')).map((parts) => `(${parts.join(' ')})`),
  ),
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('"a"', 'request.user', 'key.id', 'key.labels.team', 'request.metadata.csv'),
    fc.tuple(tie('text'), tie('text')).map(([a, b]) => `(${a} + ${b})`),
    tie('list').map((list) => `${list}.join(",")`),
    tie('text').map((text) => `${text}.upperAscii()`),
  ),
  list: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('["a", "b"]', 'request.needs', 'request.languages', 'request.metadata.map(k, k)'),
    tie('text').map((text) => `${text}.split(",")`),
    fc.tuple(tie('list'), tie('text')).map(([list, text]) => `${list}.map(a, ${text})`),
    fc.tuple(tie('list'), tie('truth')).map(([list, test]) => `${list}.filter(a, ${test})`),
    fc.tuple(tie('list'), tie('list')).map(([a, b]) => `(${a} + ${b})`),
  ),
  figure: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('1.0', 'time.hour', 'request.input_tokens'),
    tie('text').map((text) => `double(${text})`),
    tie('list').map((list) => `double(size(${list}))`),
  ),
}));
const anyText = fc.oneof(tokens, nested, chained, fc.string({ unit: 'binary', maxLength: 60 }), {
  arbitrary: truth,
  weight: 6,
});

/** The largest request that conditions can read. */
const LARGEST: RuleScope = {
  ...EMPTY_REQUEST,
  request: {
    ...EMPTY_REQUEST.request,
    needs: Array.from({ length: 20 }, (_, i) => `need-${i}`),
    languages: Array.from({ length: 256 }, (_, i) => `language-${i}`),
    user: 'a,'.repeat(512),
    metadata: new Map(Array.from({ length: 64 }, (_, i) => [i === 0 ? 'csv' : `k${i}`, 'b,'.repeat(512)])),
  },
  key: { id: 'key', labels: new Map(Array.from({ length: 64 }, (_, i) => [`l${i}`, 'v'.repeat(200)])) },
};
/** A condition should take at most 1 ms. This larger bound detects growth. */
const CONDITION_MS = 50;

const FILE_CHARACTERS_MAX = 1_000_000;

test(
  'any text as an expression either loads or is reported at its location; it never throws and never makes a slow condition',
  async () => {
    const { runs, seed, proved } = effort('expressions', 20, 20_000);
    const counts = { refused: 0, loaded: 0 };
    await fc.assert(
      fc.asyncProperty(anyText, fc.constantFrom(...KEYS), async (text, key) => {
        const line = key(JSON.stringify(text));
        fc.pre(line.length < FILE_CHARACTERS_MAX);
        const { snapshot, diagnostics } = load([{ path: 'p.yaml', text: `${SMALL}${line}\n` }]);
        counts[snapshot ? 'loaded' : 'refused']++;
        if (snapshot === null) expect(diagnostics.some(({ severity }) => severity === 'error')).toBe(true);
        for (const { when } of snapshot?.constraints ?? []) {
          await inTime(CONDITION_MS, () => holds(when, LARGEST));
        }
        for (const found of diagnostics) {
          expect(found).toMatchObject({ file: 'p.yaml', line: 14 });
          expect(found.column).toBeWithin(1, line.length + 2);
        }
      }),
      { numRuns: runs, seed },
    );
    proved(`${runs} texts as expressions: ${counts.loaded} loaded, ${counts.refused} refused with their location`);
  },
  TIMEOUT_MS,
);
