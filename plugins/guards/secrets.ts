import { defineGuard, secretsIn, type TextSpan, Type } from 'signalbox/plugin';
import { type Finder, matchesIn } from './spans.ts';

/** Finds all matches of a pattern with the flag `g`. */
const by =
  (pattern: RegExp) =>
  (text: string): readonly TextSpan[] =>
    [...text.matchAll(pattern)].map(({ index, 0: found }) => [index, index + found.length]);

/** Finds only the first group of a pattern with the flags `d` and `g`. @param fits whether the value counts */
const valueBy =
  (pattern: RegExp, fits: (value: string) => boolean = () => true) =>
  (text: string): readonly TextSpan[] =>
    [...text.matchAll(pattern)].flatMap(({ indices }) => {
      const place = indices?.[1];
      return place && fits(text.slice(...place)) ? [place] : [];
    });

/** The signs between the lines of a key: line ends, also escaped ones, indentation, and the signs of quotations and comments. */
const GAP = String.raw`(?:[\s"'>|#*]|\\{1,2}["nrt])`;
/** A key in PEM: its first line, its headers, everything after it that can be base64, and its last line. */
const PRIVATE_KEY = new RegExp(
  `-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:${GAP}{1,40}[A-Za-z-]{2,20}: [^\\n\\\\]{1,60}){0,4}(?:${GAP}{1,40}[A-Za-z0-9+/=]+){0,2000}(?:${GAP}{0,40}-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?`,
  'g',
);

/** Formats that `secretsIn` does not have. */
const OTHER_KEYS =
  /\b(?:xox[abeprs]-[A-Za-z0-9-]{10,}|github_pat_\w{22,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|SG\.[\w-]{16,64}\.[\w-]{16,}|ya29\.[\w-]{20,}|whsec_[A-Za-z0-9+/=]{24,}|dop_v1_[0-9a-f]{40,}|ASIA[A-Z0-9]{12,}|\d{8,10}:AA[\w-]{32,})/g;

/** The password in the address of a server: `postgres://user:password@host`. */
const ADDRESS_PASSWORD = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,64}:([^\s/@]{1,128})@/dgi;

/** How many characters of a value decide whether the value looks random. */
const JUDGED = 32;

/** A value after the name of a credential: `api_key = "…"`. */
const ASSIGNED =
  /(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)["'`]?\s{0,3}(?:=>|:=|[:=])\s{0,3}["'`]?([^\s"'`,;<>${}()[\]]{8,})/dgi;

const CLASSES = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/];
const classesIn = (text: string): number => CLASSES.filter((kind) => kind.test(text)).length;

/** Whether a value can be a password. Words such as `undefined` and `required` cannot. */
const isMixed = (value: string): boolean => classesIn(value.slice(0, JUDGED)) >= 2;

/** A run without spaces that is long enough to be a key. */
const LONG_RUN = /(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}/g;
/** The least bits a character of a random text of `JUDGED` characters has. Words and paths in any language have fewer. */
const BITS_MIN = 3.9;

/** Whether a run looks random. Only its beginning is judged, so that the result is the same before the rest has arrived. */
function isRandom(run: string): boolean {
  const judged = run.slice(0, JUDGED);
  return classesIn(judged.replace(/[^A-Za-z0-9]/g, '')) === 3 && entropyOf(judged) >= BITS_MIN;
}

function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const sign of text) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const randomIn = (text: string): readonly TextSpan[] =>
  by(LONG_RUN)(text).filter(([from, to]) => isRandom(text.slice(from, to)));

const FINDERS: readonly Finder[] = [
  ['private-key', by(PRIVATE_KEY)],
  ['api-key', secretsIn],
  ['api-key', by(OTHER_KEYS)],
  ['password', valueBy(ADDRESS_PASSWORD)],
  ['password', valueBy(ASSIGNED, isMixed)],
];
const RANDOM: Finder = ['random-text', randomIn];

/** Finds keys, tokens and passwords. */
export const secrets = defineGuard({
  name: 'secrets',
  status: 'alpha',
  settings: Type.Object(
    {
      entropy: Type.Boolean({
        default: false,
        examples: [true],
        description:
          'Whether a long text that looks random also counts as a secret. This also finds some hashes and IDs.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: true,
  window: 'message',
  sides: ['input', 'output'],
  prepare({ entropy }) {
    const finders = entropy ? [...FINDERS, RANDOM] : FINDERS;
    return {
      kinds: [...new Set(finders.map(([kind]) => kind))],
      reach: 192,
      check: (window) => matchesIn(window, finders),
    };
  },
});
