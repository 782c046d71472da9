import fc from 'fast-check';
import type { GuardMatch, GuardPlugin, GuardText, GuardWindow, PreparedGuard } from '../../contract/guard.ts';
import { matchFault } from '../../contract/guard-matches.ts';
import { checkPure, finished, isSteps, LONGEST } from '../../contract/guard-steps.ts';
import { deepFreeze } from '../../policy/report/freeze.ts';
import { isEqual, type Law, quote, shortJson } from './law.ts';
import { optionsFrom, optionsLaw, preparedLaws } from './schema-values.ts';
import { reachedFault, runSealed } from './sealed.ts';

export interface GuardSubject {
  readonly plugin: GuardPlugin;
}

const lawOf = preparedLaws<GuardSubject, PreparedGuard>({
  noun: 'settings',
  all: ({ plugin }) => optionsFrom(plugin.settings),
  prepare: ({ plugin }, settings) => plugin.prepare(settings),
});

const ROLES: readonly GuardText['role'][] = ['system', 'user', 'assistant', 'tool', null];
const KINDS: readonly GuardText['kind'][] = ['text', 'tool_arguments', 'reasoning', 'definition', 'name', 'other'];

/** Pieces of texts in which guards find something, so that the laws try matches, too. */
const PIECES = [
  ...[
    'Write to ada@example.com, please.',
    ' call +49 30 901820 ',
    'card 4111 1111 1111 1111',
    'DE89370400440532013000',
  ],
  ...[
    'sk-live-1234567890abcdef',
    'password: Tr0ub4dor&3',
    'secret',
    'Привет, как дела сегодня?',
    '東京は晴れです',
    '-----BEGIN',
  ],
  ...['{"a":"', '\\n', '\n\n', ' ', '.', 'a', '@', '1', '👍', '\u0000'],
] as const;

const textOf = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 12 })), { maxLength: 12 })
  .map((pieces) => pieces.join(''));

/** Forms that requests want of texts. */
const FORMS = [
  { schema: null },
  { schema: { type: 'object' } },
  { schema: { type: 'array', items: { type: 'string' } } },
];

const windows = (plugin: GuardPlugin): fc.Arbitrary<GuardWindow> =>
  fc.record({
    side: fc.constantFrom(...plugin.sides),
    texts: fc.array(
      fc.record({
        text: textOf,
        role: fc.constantFrom(...ROLES),
        kind: fc.constantFrom(...KINDS),
        ...(plugin.window === 'form' && { form: fc.constantFrom(...FORMS) }),
      }),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
  });

const describe = (window: GuardWindow): string => shortJson(window);

const NAME = /^[a-z][a-z0-9-]{0,39}$/;

const checked = (guard: PreparedGuard, window: GuardWindow): readonly GuardMatch[] => {
  const matches = guard.check(window);
  if (matches instanceof Promise)
    throw new Error('`check` returns a promise, but a pure guard must return the matches');
  return finished(matches);
};

/** A text in which guards find nothing. */
const FOLLOWING = ' Plain words follow here.';

/** Only pure guards can be tried without the services that they call. */
const pureWindows = ({ plugin }: GuardSubject) => (plugin.pure ? windows(plugin) : null);

const matchText = ({ at }: GuardMatch, { texts }: GuardWindow): string =>
  at === undefined ? 'the window' : quote(texts[at.text]!.text.slice(at.from, at.to));

/** Matches in an order that depends on nothing but the matches. */
const inOrder = (matches: readonly GuardMatch[]): readonly string[] =>
  matches.map((match) => JSON.stringify(match)).sort();

/** The length of a part with which the law of long texts is tried. Signalbox itself uses longer ones. */
const SHORT_PART = 256;
/** The longest time that a guard may stop the server, ms. */
const PAUSE_MS = 50;
/** A slow machine can delay a step, but never in each of these runs. */
const PAUSE_RUNS = 10;
const LONG = 2_000_000;

/** Texts that are slow for many guards. */
const LONG_PIECES = [
  '4111 1111 1111 1112 ',
  'ada@example.com ',
  'a',
  'password=',
  'Plain words follow here. ',
] as const;

/** Returns the longest time without a pause, ms; of each step the shortest time of several runs. */
function longestPause(guard: PreparedGuard, window: GuardWindow): number {
  const least: number[] = [];
  for (let run = 0; run < PAUSE_RUNS; run++) {
    let steps: ReturnType<PreparedGuard['check']> | null = null;
    for (let at = 0, done = false; !done; at++) {
      const begun = performance.now();
      if (steps === null) steps = checkPure(guard, window);
      else if (isSteps(steps)) done = steps.next().done === true;
      done ||= !isSteps(steps);
      least[at] = Math.min(least[at] ?? Number.POSITIVE_INFINITY, performance.now() - begun);
      if (least[at]! > PAUSE_MS) break;
    }
    if (least.every((ms) => ms <= PAUSE_MS)) break;
  }
  return least.reduce((most, ms) => Math.max(most, ms), 0);
}

/** The laws for every guard, the simplest first. */
export const GUARD_LAWS: readonly Law<GuardSubject>[] = [
  optionsLaw<GuardSubject>({
    name: 'settings',
    says: '`prepare` accepts the default settings; if it refuses other settings that the schema allows, its error gives a reason',
    cases: ({ plugin }) => optionsFrom(plugin.settings),
    prepare: ({ plugin }, given) => plugin.prepare(given),
    own: () => [],
    ownWords: 'the defaults',
  }),
  lawOf<null>({
    name: 'form',
    says: '`prepare` returns `kinds`, `check` and optionally `reach`, and the plugin states what it inspects',
    cases: () => fc.constant(null),
    fault({ kinds, check, reach }, _, { plugin }) {
      if (typeof plugin.pure !== 'boolean') return '`pure` must be true or false';
      if (!['message', 'call', 'all', 'form'].includes(plugin.window))
        return `\`window\` is ${shortJson(plugin.window)}`;
      const sides: readonly unknown[] = plugin.sides;
      if (sides.length === 0 || !sides.every((side) => side === 'input' || side === 'output'))
        return `\`sides\` is ${shortJson(sides)}; it must contain \`input\`, \`output\` or both`;
      if (plugin.window === 'form' && sides.includes('input'))
        return '`window` is `form`, which only answers have, so `sides` must be `output`';
      if (typeof check !== 'function') return '`prepare` returns no `check`';
      const names: readonly unknown[] = kinds;
      if (names.length === 0 || !names.every((name) => typeof name === 'string' && NAME.test(name)))
        return `\`kinds\` is ${shortJson(kinds)}; it must be names of lower-case letters, digits and dashes`;
      if (reach !== undefined && !(Number.isSafeInteger(reach) && reach > 0))
        return `\`reach\` is ${shortJson(reach)}; it must be a whole number above 0, or absent`;
      return null;
    },
    describe: () => 'any window',
  }),
  lawOf<GuardWindow>({
    name: 'matches',
    says: 'every match has a known kind, and its place is within its text',
    cases: pureWindows,
    fault: (guard, window) => matchFault(guard.kinds, window, checked(guard, window)),
    describe,
  }),
  lawOf<GuardWindow>({
    name: 'inputs',
    says: '`check` does not change the window',
    cases: pureWindows,
    fault(guard, window) {
      const before = structuredClone(window);
      checked(guard, deepFreeze(window));
      return isEqual(before, window) ? null : '`check` changes the window';
    },
    describe,
  }),
  lawOf<{ readonly window: GuardWindow; readonly between: GuardWindow }>({
    name: 'pure',
    says: 'the same window gives the same matches, whatever was inspected before, independent of clock, randomness and environment',
    cases: (subject) => {
      const cases = pureWindows(subject);
      return cases && fc.record({ window: cases, between: cases });
    },
    fault(guard, { window, between }, { plugin }, settings) {
      const { value, reached } = runSealed(() => {
        const first = checked(guard, window);
        checked(guard, between);
        return { first, again: checked(guard, window), fresh: checked(plugin.prepare(settings), window) };
      });
      if (reached.length > 0) return reachedFault(reached);
      if (!isEqual(value.first, value.again))
        return `the first matches are ${shortJson(value.first)}, the second ${shortJson(value.again)}`;
      return isEqual(value.first, value.fresh)
        ? null
        : `prepared again, the matches are ${shortJson(value.fresh)} instead of ${shortJson(value.first)}`;
    },
    describe: ({ window, between }) => `${describe(window)}; between: ${describe(between)}`,
  }),
  lawOf<GuardWindow>({
    name: 'reach',
    says: 'a match is found as soon as `reach` characters after its beginning have arrived',
    cases: (subject) => pureWindows(subject)?.map((window) => ({ ...window, texts: window.texts.slice(0, 1) })) ?? null,
    fault(guard, given) {
      const { reach } = guard;
      if (reach === undefined) return null;
      // Text follows every match, so that the law can cut the text after each of them.
      const [first] = given.texts;
      const whole = { ...first!, text: first!.text + FOLLOWING.repeat(Math.ceil((2 * reach) / FOLLOWING.length)) };
      const window = { ...given, texts: [whole] };
      for (const match of checked(guard, window)) {
        if (match.at === undefined) return `the match ${match.kind} has no place, but the guard states \`reach\``;
        const { from, to } = match.at;
        if (from + reach >= whole.text.length) continue;
        const cut = { ...window, texts: [{ ...whole, text: whole.text.slice(0, from + reach) }] };
        const isFound = checked(guard, cut).some(({ at }) => at && at.from <= from && from < at.to);
        if (!isFound) return `${matchText(match, window)} is not found in the first ${from + reach} characters`;
        if (to + reach < whole.text.length) {
          const later = { ...window, texts: [{ ...whole, text: whole.text.slice(0, to + reach) }] };
          const isSame = checked(guard, later).some(({ at }) => at && at.from <= from && at.to >= to);
          if (!isSame) return `${matchText(match, window)} ends elsewhere in the first ${to + reach} characters`;
        }
      }
      return null;
    },
    describe,
  }),
  lawOf<GuardWindow>({
    name: 'parts',
    says: 'a guard with `reach` finds the same in parts of a long text as in the whole text',
    cases: (subject) =>
      pureWindows(subject)?.map(({ side, texts }) => ({
        side,
        texts: texts.map((one) => ({ ...one, text: one.text.repeat(8) })),
      })) ?? null,
    fault(guard, window) {
      if (guard.reach === undefined || guard.takesSteps) return null;
      const whole = checked(guard, window);
      const found = checkPure(guard, window, SHORT_PART);
      const parts = found instanceof Promise ? [] : finished(found);
      return isEqual(inOrder(parts), inOrder(whole))
        ? null
        : `in parts, the matches are ${shortJson(parts)} instead of ${shortJson(whole)}`;
    },
    describe,
  }),
  lawOf<string>({
    name: 'pauses',
    says: `a guard stops the server for at most ${PAUSE_MS} ms, however long a text is`,
    isOnce: true,
    cases: ({ plugin }) => (plugin.pure ? fc.constant('texts of many megabytes') : null),
    fault(guard, _, { plugin }) {
      const { takesSteps, reach, longest = LONGEST } = guard;
      const length = takesSteps || reach !== undefined ? LONG : Math.min(LONG, longest);
      for (const piece of LONG_PIECES) {
        const text = piece.repeat(Math.floor(length / piece.length));
        const form = plugin.window === 'form' ? { form: { schema: null } } : {};
        const texts = [{ text, role: 'assistant' as const, kind: 'text' as const, ...form }];
        const ms = longestPause(guard, { side: plugin.sides[0]!, texts });
        if (ms > PAUSE_MS)
          return `it takes ${Math.round(ms)} ms without a pause for ${text.length} characters of ${quote(piece)}`;
      }
      return null;
    },
    describe: (what) => what,
  }),
];
