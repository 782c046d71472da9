import { defineGuard, type GuardText, SEARCH_STEP, Type } from 'signalbox/plugin';

/** The scripts that the guard distinguishes, with their letters as parts of a regular expression. */
const SCRIPTS = {
  arabic: '\\p{Script=Arabic}',
  bengali: '\\p{Script=Bengali}',
  chinese: '\\p{Script=Han}',
  cyrillic: '\\p{Script=Cyrillic}',
  devanagari: '\\p{Script=Devanagari}',
  greek: '\\p{Script=Greek}',
  hebrew: '\\p{Script=Hebrew}',
  japanese: '\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Han}',
  korean: '\\p{Script=Hangul}',
  latin: '\\p{Script=Latin}',
  tamil: '\\p{Script=Tamil}',
  thai: '\\p{Script=Thai}',
} as const;

type Script = keyof typeof SCRIPTS;
const NAMES = Object.keys(SCRIPTS) as Script[];
const LETTERS = /\p{L}/gu;

const LOW_SURROGATE = /^[\uDC00-\uDFFF]/;

function* count(text: string, pattern: RegExp): Generator<void, number> {
  let sum = 0;
  for (let at = 0; at < text.length; ) {
    // A part never ends between the two halves of a character.
    const end = at + SEARCH_STEP + (LOW_SURROGATE.test(text.charAt(at + SEARCH_STEP)) ? 1 : 0);
    sum += text.slice(at, end).match(pattern)?.length ?? 0;
    at = end;
    if (at < text.length) yield;
  }
  return sum;
}

/** Finds texts of people and models that are mostly in other scripts than the allowed ones. A text with few letters is not judged. */
export const language = defineGuard({
  name: 'language',
  status: 'alpha',
  settings: Type.Object(
    {
      scripts: Type.Array(
        Type.Unsafe<Script>(
          Type.Union(
            NAMES.map((name) => Type.Literal(name)),
            { description: 'A script, such as `latin`.' },
          ),
        ),
        {
          minItems: 1,
          uniqueItems: true,
          examples: [['latin', 'greek']],
          description:
            'The scripts that messages may be written in. English, French, Turkish and most languages of Europe use `latin`.',
        },
      ),
      share: Type.Number({
        minimum: 0,
        maximum: 1,
        default: 0.3,
        examples: [0.5],
        description: 'The share of letters in other scripts, 0 to 1, above which a message counts as a match.',
      }),
      letters: Type.Integer({
        minimum: 1,
        default: 20,
        examples: [1],
        description:
          'How many letters a text needs to be judged. Short texts are often names, or a single word of another language.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: true,
  window: 'message',
  locates: false,
  sides: ['input', 'output'],
  prepare({ scripts, share, letters: lettersMin }) {
    const other = new RegExp(`[\\p{L}--[${scripts.map((script) => SCRIPTS[script]).join('')}]]`, 'gv');
    function* isOther({ text, kind }: GuardText): Generator<void, boolean> {
      const others = kind === 'text' ? yield* count(text, other) : 0;
      if (others === 0) return false;
      const letters = yield* count(text, LETTERS);
      return letters >= lettersMin && others > share * letters;
    }
    return {
      kinds: ['other-script'],
      takesSteps: true,
      *check({ texts }) {
        for (const text of texts) {
          if (yield* isOther(text)) return [{ kind: 'other-script' }];
          yield;
        }
        return [];
      },
    };
  },
});
