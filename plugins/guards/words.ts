import {
  defineGuard,
  type LinearPattern,
  linearPattern,
  patternSize,
  type TextFinder,
  type TextSpan,
  Type,
} from 'signalbox/plugin';
import { literalFinder } from './literals.ts';
import { type Finder, matchesIn } from './spans.ts';

const list = (example: readonly string[], description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
    default: [],
    maxItems: 5_000,
    examples: [example],
    description,
  });

const LETTER = /[\p{L}\p{N}_]/u;

/** Whether a place neither begins nor ends within a word. */
const isWhole = (text: string, [from, to]: TextSpan): boolean =>
  !(LETTER.test(text.charAt(from - 1)) && LETTER.test(text.charAt(from))) &&
  !(LETTER.test(text.charAt(to - 1)) && LETTER.test(text.charAt(to)));

/** Finds denied texts and patterns, except within allowed texts. The search takes linear time for any list and any text. */
export const words = defineGuard({
  name: 'words',
  status: 'alpha',
  settings: Type.Object(
    {
      deny: list(['project falcon'], 'Texts to find, as whole words.'),
      patterns: list(
        ['(?i)falcon-\\d+'],
        'Patterns to find, in the syntax of RE2: no references to groups, no look-around.',
      ),
      allow: list(
        ['falcon heavy'],
        'Texts in which nothing is found. A denied text or a pattern that is part of an allowed text does not count.',
      ),
      case_sensitive: Type.Boolean({
        default: false,
        examples: [true],
        description:
          'Whether `deny` and `allow` distinguish capital and small letters. A pattern ignores case with `(?i)`.',
      }),
      longest_match: Type.Integer({
        minimum: 1,
        maximum: 4_096,
        default: 256,
        examples: [64],
        description: 'The longest match of a pattern, in characters. Streams of answers are delayed by it.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: true,
  window: 'message',
  sides: ['input', 'output'],
  prepare({ deny, patterns, allow, case_sensitive: isSensitive, longest_match: longest }) {
    if (deny.length + patterns.length === 0) throw new Error('state at least one text in `deny` or `patterns`');
    const except = allow.length > 0 ? literalFinder(allow, !isSensitive) : undefined;
    const finders: Finder[] = [
      ...(deny.length > 0 ? [['word', literalFinder(deny, !isSensitive, isWhole), except] satisfies Finder] : []),
      ...patternFinders(patterns, longest, except),
    ];
    const lengths = [...deny, ...allow].map(({ length }) => length + 1);
    const reach = Math.max(...lengths, patterns.length > 0 ? longest : 0);
    return {
      kinds: ['word', 'pattern'],
      reach,
      takesSteps: true,
      patternSteps: patterns.reduce((sum, source) => sum + patternSize(source), 0),
      check: (window) => matchesIn(window, finders, reach),
    };
  },
});

/** The most steps of all patterns of a guard together. */
const STEPS_MAX = 32_768;
/** The most steps of a pattern, multiplied by the characters of its longest match, which one step of the search looks at. */
const WORK_MAX = 1_048_576;
/** The characters that one step of a search looks at, multiplied by the steps of the pattern. */
const AT_ONCE = 65_536;
const CHARACTERS_MIN = 64;
const CHARACTERS_MAX = 16_384;

/**
 * Makes the finders of patterns. A pattern is compiled for its first search, because many policies are only checked.
 * @throws Error for a pattern that is not valid, and for patterns that are too large
 */
function patternFinders(sources: readonly string[], longest: number, except: TextFinder | undefined): Finder[] {
  let steps = 0;
  return sources.map((source): Finder => {
    valid(source);
    const size = patternSize(source);
    steps += size;
    if (size * longest > WORK_MAX)
      throw new Error(
        `the pattern \`${source}\` is too large: it has ${size} steps, and with \`longest_match: ${longest}\` at most ${Math.floor(WORK_MAX / longest)} are possible`,
      );
    if (steps > STEPS_MAX)
      throw new Error(`the patterns are too large together: with \`${source}\` they have more than 32,768 steps`);
    let compiled: TextFinder | null = null;
    const find: TextFinder = (text, from, until, found) => {
      compiled ??= valid(source).find;
      return compiled(text, from, until, found);
    };
    return ['pattern', find, except, Math.min(CHARACTERS_MAX, Math.max(CHARACTERS_MIN, Math.ceil(AT_ONCE / size)))];
  });
}

function valid(source: string): LinearPattern {
  try {
    return linearPattern(source);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the pattern \`${source}\` is not valid: ${why.replace(/\s+/g, ' ')}`);
  }
}
