import { defineGuard, type GuardText, Type } from 'signalbox/plugin';

/** The scripts that the guard distinguishes, with a pattern for their letters. */
const SCRIPTS = {
  arabic: /\p{Script=Arabic}/gu,
  bengali: /\p{Script=Bengali}/gu,
  chinese: /\p{Script=Han}/gu,
  cyrillic: /\p{Script=Cyrillic}/gu,
  devanagari: /\p{Script=Devanagari}/gu,
  greek: /\p{Script=Greek}/gu,
  hebrew: /\p{Script=Hebrew}/gu,
  japanese: /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/gu,
  korean: /\p{Script=Hangul}/gu,
  latin: /\p{Script=Latin}/gu,
  tamil: /\p{Script=Tamil}/gu,
  thai: /\p{Script=Thai}/gu,
} as const;

type Script = keyof typeof SCRIPTS;
const NAMES = Object.keys(SCRIPTS) as Script[];
const LETTERS = /\p{L}/gu;

/** Texts with fewer letters are not judged. */
const LETTERS_MIN = 20;

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** Finds texts of people and models that are mostly in other scripts than the allowed ones. */
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
    },
    { additionalProperties: false },
  ),
  pure: true,
  window: 'message',
  sides: ['input', 'output'],
  prepare({ scripts, share }) {
    const isOther = ({ text, kind }: GuardText): boolean => {
      if (kind !== 'text') return false;
      const letters = count(text, LETTERS);
      if (letters < LETTERS_MIN) return false;
      let others = text;
      for (const script of scripts) others = others.replace(SCRIPTS[script], '');
      return count(others, LETTERS) > share * letters;
    };
    return {
      kinds: ['other-script'],
      check: ({ texts }) => (texts.some(isOther) ? [{ kind: 'other-script' }] : []),
    };
  },
});
