import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { EXPRESSION_LENGTH_MAX } from '../../../src/core/define/policy-words.ts';
import { costlyPart } from '../../../src/policy/cel/steps.ts';
import { EMPTY_REQUEST } from '../../../src/policy/cel/trials.ts';
import {
  claimsViewOf,
  environmentOf,
  LIST_ENTRIES_MAX,
  METADATA_MAX,
  TEXT_MAX,
  viewOf,
} from '../../../src/policy/cel/types.ts';
import { tries } from '../../deep/effort.ts';
import { leastOf } from '../../support/in-time.ts';
import { threadMs } from '../../support/thread-time.ts';
import { loadText, SMALL } from '../support.ts';

/** A fixed amount of work on texts, so that the speed of the machine changes nothing. */
function someWork(): number {
  const parts: string[] = [];
  for (let at = 0; at < 600; at++) {
    let text = `${'a'.repeat(256)}${at}`;
    for (let turn = 0; turn < 8; turn++) text = `${text.slice(1)}${at % 7}`;
    parts.push(text);
  }
  return parts.join('').split('b').length;
}

/** The longest evaluation time of an accepted expression, as a multiple of the time of this work, which takes about 1 ms. */
const TIMES_MAX = 12;
const TIME_MAX = TIMES_MAX * (await leastOf(0, () => timed(someWork)));

function timed(run: () => unknown): number {
  const began = threadMs();
  try {
    run();
  } catch {
    // A failure takes time, too.
  }
  return threadMs() - began;
}

const NAME_MAX = 256;
const texts = (count: number, character: string, length = NAME_MAX) =>
  Array.from({ length: count }, (_, at) => `${at}`.padStart(length, character));

/** The largest request that a condition can read. */
const request = viewOf({
  ...EMPTY_REQUEST,
  request: {
    ...EMPTY_REQUEST.request,
    needs: texts(LIST_ENTRIES_MAX, 'n'),
    languages: texts(LIST_ENTRIES_MAX, 'l'),
    user: 'a'.repeat(TEXT_MAX),
    metadata: new Map([
      ['one', `${'a'.repeat(256)}b${'a'.repeat(255)}`],
      ...texts(METADATA_MAX - 1, 'a', TEXT_MAX).map((text) => [text, text] as const),
    ]),
  },
  key: { id: 'key', labels: new Map(texts(METADATA_MAX, 'b').map((key) => [key, key])) },
});

/** The largest claims: lists of lists. */
const claims = claimsViewOf({
  groups: texts(LIST_ENTRIES_MAX, 'a', TEXT_MAX),
  nested: texts(LIST_ENTRIES_MAX, 'a').map(() => texts(LIST_ENTRIES_MAX, 'a')),
});

const VIEWS = { when: request, claims };

/** Returns the condition as a policy would evaluate it; null if a policy refuses it. */
function accepted(text: string, kind: keyof typeof VIEWS): (() => unknown) | null {
  if (text.length > EXPRESSION_LENGTH_MAX) return null;
  try {
    const program = environmentOf(kind).parse(text);
    return program.check().valid && costlyPart(program.ast, kind) === null ? () => program(VIEWS[kind]) : null;
  } catch {
    return null;
  }
}

/** Joins as many copies of a condition as one expression may have. All copies are evaluated, whatever their results are. */
function copiesOf(condition: string, kind: keyof typeof VIEWS = 'when'): (() => unknown) | null {
  const times = (count: number) => Array.from({ length: count }, () => `((${condition}) && false)`).join(' || ');
  let most: (() => unknown) | null = null;
  for (let [count, step] = [0, 128]; step >= 1; step /= 2) {
    const program = accepted(times(count + step), kind);
    if (program) [most, count] = [program, count + step];
  }
  return most;
}

/** Measures the evaluation time, ms of CPU. */
const timeOf = (evaluate: () => unknown): Promise<number> => leastOf(TIME_MAX, () => timed(evaluate));

const list = (length: number) => `[${Array.from({ length }, (_, at) => at).join(', ')}]`;
/** Binds values around a value. Each has twice the length of the previous value. */
const doubled = (from: string, times: number) =>
  `${Array.from({ length: times }, (_, at) => `cel.bind(v${at}, ${at === 0 ? from : `v${at - 1} + v${at - 1}`}, `).join('')}v${times - 1}${')'.repeat(times)}`;

/** Expensive forms of conditions, at any scale. */
const FORMS: Readonly<Record<string, (scale: number) => string>> = {
  'nested loops over written lists': (scale) => `${list(scale)}.all(a, ${list(scale)}.all(b, a + b >= 0))`,
  'nested loops over entries of a request': (scale) =>
    `request.metadata.all(a, request.metadata.all(b, ${Array.from({ length: scale }, () => 'a != b').join(' || ')}))`,
  'four nested loops': (scale) =>
    `${list(scale)}.all(a, ${list(scale)}.all(b, ${list(scale)}.all(c, ${list(scale)}.all(d, a >= 0))))`,
  'a loop over the characters of a text': (scale) =>
    `request.user.split("").exists(t, ${Array.from({ length: scale }, () => 't == "b"').join(' || ')})`,
  'searches in a loop': (scale) =>
    `["a", "b"].exists(t, ${Array.from({ length: scale }, () => 'request.user.contains(request.metadata.one)').join(' || ')})`,
  'a search in a long text': (scale) =>
    `(${Array.from({ length: scale }, () => 'request.user').join(' + ')}).contains(request.metadata.one)`,
  'functions in a loop': (scale) =>
    `request.languages.exists(t, ${Array.from({ length: scale }, () => 't.upperAscii().trim().endsWith("b")').join(' || ')})`,
  'failures in a loop': (scale) =>
    `request.metadata.exists(t, ${Array.from({ length: scale }, () => 'double(t) > 1.0').join(' || ')})`,
  'failures in a row': (scale) => Array.from({ length: scale }, () => 'double(request.user) > 1.0').join(' || '),
  'texts that double': (scale) => `${doubled('request.user', scale)}.contains("b")`,
  'lists that double': (scale) => `1 in ${doubled('[1, 2]', scale)}`,
  'a text joined from all texts': (scale) =>
    `request.languages.map(a, ${Array.from({ length: scale }, () => 'a').join(' + ')}).join("") == "b"`,
  'texts in hexadecimal': (scale) => `${'bytes('.repeat(scale)}request.user${').hex()'.repeat(scale)} == "b"`,
  'a loop over the characters of all texts': (scale) =>
    `${Array.from({ length: scale }, () => 'request.user').join(' + ')}.split("").all(t, t != "b")`,
  'joined characters': (scale) =>
    `request.user.split("").join(${Array.from({ length: scale }, () => 'request.user').join(' + ')}) == "b"`,
  'other time zones': (scale) =>
    Array.from({ length: scale }, () => 'timestamp(0).getHours("Europe/Berlin") > 5').join(' || '),
  durations: (scale) =>
    Array.from({ length: scale }, () => `duration("${'1'.repeat(32)}") > duration("1h")`).join(' || '),
  'a long duration': (scale) => `duration("${'1'.repeat(scale * 16)}") > duration("1h")`,
  'searches in lists': (scale) =>
    Array.from({ length: scale }, () => 'request.languages.all(a, a in request.needs)').join(' || '),
  'lists joined in a loop': (scale) =>
    `request.languages.exists(a, ["a"] == ${Array.from({ length: scale }, () => 'request.languages').join(' + ')})`,
  'comparisons of lists': (scale) =>
    Array.from({ length: scale }, () => 'request.user.split("") == request.metadata.one.split("")').join(' || '),
};

/** Expensive forms of conditions on the claims of a token. */
const CLAIM_FORMS: typeof FORMS = {
  'a loop over claims': (scale) =>
    `claims.groups.exists(g, ${Array.from({ length: scale }, () => 'g == "b"').join(' || ')})`,
  'functions in a loop over claims': (scale) =>
    `claims.groups.exists(g, ${Array.from({ length: scale }, () => 'g.startsWith("b")').join(' || ')})`,
  'lists of lists': (scale) =>
    `claims.nested.exists(g, ${Array.from({ length: scale }, () => '"b" in g').join(' || ')})`,
  'claims that are missing': (scale) =>
    `${list(scale)}.exists(g, ${Array.from({ length: scale }, () => 'claims.other == g').join(' || ')})`,
};

describe('the most expensive accepted expression takes a few milliseconds:', () => {
  const forms = (of: typeof FORMS, kind: keyof typeof VIEWS) =>
    Object.entries(of).map(([name, form]) => [name, form, kind] as const);

  test.each([...forms(FORMS, 'when'), ...forms(CLAIM_FORMS, 'claims')])('%s', async (_, form, kind) => {
    let tried = 0;
    for (let scale = 1; scale <= 256; scale = Math.ceil(scale * 1.2)) {
      const evaluate = copiesOf(form(scale), kind);
      if (!evaluate) continue;
      tried++;
      const ms = await timeOf(evaluate);
      expect(ms, `scale ${scale}`).toBeLessThanOrEqual(TIME_MAX);
    }
    expect(tried).toBeGreaterThan(0);
  });

  /** Values of each type. Names of loop variables can be unknown; the policy then refuses the expression, and another is drawn. */
  const { condition } = fc.letrec<{ condition: string; text: string; list: string; figure: string }>((tie) => {
    const [condition, text, aList, figure] = [tie('condition'), tie('text'), tie('list'), tie('figure')];
    const name = fc.constantFrom('a', 'b');
    const filled = (parts: TemplateStringsArray, ...holes: readonly fc.Arbitrary<string>[]) =>
      fc.tuple(...holes).map((values) => String.raw({ raw: parts }, ...values));
    return {
      text: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom('request.user', 'request.metadata.one', 'request.task', '"b"', 'a', 'b'),
        filled`(${text} + ${text})`,
        filled`${text}.${fc.constantFrom('trim', 'lowerAscii', 'upperAscii')}()`,
        filled`${aList}.join(${text})`,
        filled`bytes(${text}).${fc.constantFrom('hex', 'base64')}()`,
        filled`string(${figure})`,
        filled`cel.bind(${name}, ${text}, ${text})`,
        filled`(${condition} ? ${text} : ${text})`,
      ),
      list: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom('request.languages', 'request.needs', '["a", "b", "c"]'),
        filled`${text}.split(${fc.constantFrom('""', '"a"', '","')})`,
        filled`${aList}.map(${name}, ${text})`,
        filled`${aList}.filter(${name}, ${condition})`,
        filled`request.metadata.map(${name}, ${text})`,
        filled`(${aList} + ${aList})`,
        filled`[${text}, ${text}]`,
      ),
      figure: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom('1.0', 'time.hour', 'request.input_tokens'),
        filled`double(${text})`,
        filled`double(${text}.size())`,
        filled`double(${aList}.size())`,
        filled`(${figure} ${fc.constantFrom('+', '/', '*')} ${figure})`,
        filled`double(timestamp(${text}).getHours(${text}))`,
      ),
      condition: fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        filled`${text} ${fc.constantFrom('==', '!=', '<')} ${text}`,
        filled`${text}.${fc.constantFrom('contains', 'startsWith', 'endsWith')}(${text})`,
        filled`${text} in ${aList}`,
        filled`${aList} == ${aList}`,
        filled`${figure} > ${figure}`,
        filled`${aList}.${fc.constantFrom('all', 'exists', 'exists_one')}(${name}, ${condition})`,
        filled`request.metadata.exists(${name}, ${condition})`,
        filled`(${condition} ${fc.constantFrom('||', '&&')} ${condition})`,
        filled`!(${condition})`,
      ),
    };
  });

  test('any other random expression', async () => {
    const property = fc.asyncProperty(condition, async (text) => {
      const evaluate = copiesOf(text);
      fc.pre(evaluate !== null);
      expect(await timeOf(evaluate!)).toBeLessThanOrEqual(TIME_MAX);
    });
    await fc.assert(property, { ...tries('expression-time', 40, 20_000), maxSkipsPerRun: 1_000 });
  });
});

const diagnosticsOf = (when: string) =>
  loadText(`${SMALL}constraints: [{ name: r, max_cost_credits: 1, when: ${JSON.stringify(when)} }]\n`).diagnostics;

test.each([
  'key.labels.department == "legal" && request.input_tokens > 20000.0',
  'time.hour >= 22.0 || time.hour < 6.0',
  'request.metadata.n != "" && double(request.metadata.n) > 3.0',
  'request.metadata.tags.split(",").exists(t, t.trim().lowerAscii() == "beta")',
  'request.languages.exists(l, ["python", "rust", "go"].exists(p, l.startsWith(p)))',
  'request.languages.exists(l, l in request.needs)',
  'request.languages.exists(l, key.labels.languages.contains(l))',
  'request.languages.exists(l, l in (request.needs + ["bash"]))',
  `${list(30)}.all(a, ${list(30)}.all(b, b >= 0))`,
  `request.user in [${Array.from({ length: 190 }, (_, i) => `"u${i}"`).join(', ')}]`,
  Array.from({ length: 60 }, () => 'request.task != "coding"').join(' && '),
  'duration("1s") > duration("1h") || request.stream',
])('an ordinary rule is accepted: %s', (when) => {
  expect(diagnosticsOf(when)).toEqual([]);
});

test('the report shows the smallest part that takes too many steps', () => {
  const loops = 'request.languages.all(a, request.languages.all(b, request.languages.all(c, a != c)))';
  const [found] = diagnosticsOf(`request.stream || ${loops}`);
  expect(found).toMatchObject({ code: 'cel-too-costly', severity: 'error' });
  const text = `request.stream || ${loops}`;
  const at = text.indexOf('request.languages.all(b');
  expect(found!.length).toBe(text.slice(at).length - 1);
});

test('a duration must be a short literal text, because parsing a duration takes cubic time', () => {
  for (const text of ['request.user', `"${'1'.repeat(33)}"`])
    expect(diagnosticsOf(`duration(${text}) > duration("1h")`)).toMatchObject([{ code: 'cel-too-costly' }]);
});
