import { defineGuard, type LinearPattern, linearPattern, type TextSpan, Type } from 'signalbox/plugin';
import { literalSearch } from './literals.ts';
import { type Finder, matchesIn, outside } from './spans.ts';

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
    const denied = literalSearch(deny, !isSensitive);
    const allowed = literalSearch(allow, !isSensitive);
    const compiled = patterns.map((source) => compile(source));
    const without = (text: string, found: readonly TextSpan[]): readonly TextSpan[] =>
      allow.length === 0 || found.length === 0 ? found : outside(allowed(text), found);
    const finders: Finder[] = [
      [
        'word',
        (text) =>
          without(
            text,
            denied(text).filter((place) => isWhole(text, place)),
          ),
      ],
      ...compiled.map((pattern): Finder => ['pattern', (text) => without(text, pattern.matches(text))]),
    ];
    const lengths = [...deny, ...allow].map(({ length }) => length + 1);
    return {
      kinds: ['word', 'pattern'],
      reach: Math.max(...lengths, patterns.length > 0 ? longest : 0),
      check: (window) => matchesIn(window, finders),
    };
  },
});

function compile(source: string): LinearPattern {
  try {
    return linearPattern(source);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the pattern \`${source}\` is not valid: ${why.replace(/\s+/g, ' ')}`);
  }
}
