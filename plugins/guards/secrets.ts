import {
  defineGuard,
  findSecrets,
  patternFinder,
  secretsIn,
  type TextFinder,
  type TextSpan,
  Type,
} from 'signalbox/plugin';
import { findAssigned } from './assigned-values.ts';
import { isWords, JUDGED } from './code-words.ts';
import { type Finder, matchesIn } from './spans.ts';

/** The signs between the lines of a key: line ends, also escaped ones, indentation, and the signs of quotations and comments. */
const GAP = String.raw`(?:[\s"'>|#*]|\\{1,2}["nrt])`;
/** The end of the first line of a key, with a header or base64 on the next line, or base64 on the same line. Code that reads keys has the first line alone. */
const KEY_FOLLOWS = String.raw`(?=[ \t]{0,8}(?:\r?\n|\\{1,2}n|\\{1,2}r\\{1,2}n){1,2}[\s"'>|#*+]{0,60}(?:[A-Za-z-]{2,20}: |[A-Za-z0-9+/=]{40}|[A-Za-z0-9+/=]{4,39}(?![A-Za-z0-9+/=]| ?=))|[ ]{1,4}[A-Za-z0-9+/=]{16})`;
/** A key in PEM: its first line, its headers, everything after it that can be base64, and its last line. */
const PRIVATE_KEY = new RegExp(
  `-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----${KEY_FOLLOWS}(?:${GAP}{1,40}[A-Za-z-]{2,20}: [^\\n\\\\]{1,60}){0,4}(?:${GAP}{1,40}[A-Za-z0-9+/=]+){0,2000}(?:${GAP}{0,40}-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?`,
  'g',
);

/** Formats that `secretsIn` does not have. */
const OTHER_KEYS = new RegExp(
  String.raw`\b(?:${[
    // Slack, also its webhooks; GitHub, GitLab, npm, PyPI
    /(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{10,}/,
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/[\w+/-]{20,}/,
    /github_pat_\w{22,}/,
    /glpat-[\w-]{16,}/,
    /npm_[A-Za-z0-9]{30,}/,
    /pypi-AgE[\w-]{24,}/,
    // SendGrid, Google, Standard Webhooks, DigitalOcean, AWS, Telegram
    /SG\.[\w-]{16,64}\.[\w-]{16,}/,
    /ya29\.[\w-]{20,}/,
    /whsec_[A-Za-z0-9+/=]{24,}/,
    /dop_v1_[0-9a-f]{40,}/,
    /ASIA[A-Z0-9]{12,}/,
    /\d{8,10}:AA[\w-]{32,}/,
    // Shopify, HashiCorp Vault, Databricks, Linear
    /shp(?:at|ca|pa|rt|ss|tka|ua)_[0-9A-Fa-f]{24,}/,
    /hv[brs]\.[\w-]{24,}/,
    /(?:dapi|dose)[0-9a-f]{32}(?:-\d{1,2})?/,
    /lin_(?:api|oauth|wh)_[A-Za-z0-9]{24,}/,
  ]
    .map(({ source }) => source)
    .join('|')})`,
  'g',
);

/** Keys that `secretsIn` finds by a short beginning, which names in code have, too: `sk_…`. Group 1 is the part of a known key. */
const SHORT_BEGINNING = /^[prs]k[-_](?:((?:live|test|proj|ant|or|svcacct|admin)[-_])|)|^Bearer\s+/;

/** No name in code is that long without a sign between its words. */
const LONG_WORD = /[A-Za-z0-9]{32}/;

/** Finds the formats of `secretsIn`, without names and words such as `sk_stack_of_names` and `Bearer authentication`. */
const findKeys: TextFinder = (text, from, until, found) => {
  const places: TextSpan[] = [];
  const next = findSecrets(text, from, until, places);
  for (const place of places) {
    const rest = wordsAt(text, place);
    if (rest === null) found.push(place);
    else if (place[1] > rest) addInner(text, rest, place[1], found);
  }
  return next;
};

/** Finds keys after words: a name can end with a key, and so can a header. */
function addInner(text: string, from: number, to: number, found: TextSpan[]): void {
  for (const [begin, end] of secretsIn(text.slice(from, to))) {
    const inner: TextSpan = [from + begin, from + end];
    if (wordsAt(text, inner) === null) found.push(inner);
  }
}

/** Returns where the words begin if a place has words after a short beginning; null for a key. */
function wordsAt(text: string, [from, to]: TextSpan): number | null {
  const key = text.slice(from, Math.min(to, from + JUDGED));
  const [beginning, known] = SHORT_BEGINNING.exec(key) ?? [];
  if (beginning === undefined || (known !== undefined && !/\w/.test(text.charAt(from - 1)))) return null;
  const rest = key.slice(beginning.length);
  return isWords(rest) && !LONG_WORD.test(rest) ? from + beginning.length : null;
}

/** The signs of a user or password in an address. Quotes end the address. */
const ADDRESS_SIGN = String.raw`[^\s/@"'<>\x60]`;
/** The same without signs that come after a name and port. */
const LONG_SIGN = String.raw`[^\s/@?#;,"'<>\x60]`;
/** Where no other address begins. */
const NOT_NEXT = String.raw`(?!:\/\/)`;
/**
 * The password in the address of a server: `postgres://user:password@host`. A user or password that is so long that no `@` may be seen after
 * it counts, too, because no name of a server and no port is that long.
 */
const ADDRESS_PASSWORD = new RegExp(
  String.raw`(?<=[a-z0-9]):\/\/(?:(?:(?!:)${ADDRESS_SIGN}){0,128}:(?:(?!\d{1,5}[?#])(${ADDRESS_SIGN}{1,128})@|((?:${NOT_NEXT}${LONG_SIGN}){129,}))|((?:(?!:)${LONG_SIGN}){129,}(?::(?:${NOT_NEXT}${ADDRESS_SIGN})*)?))`,
  'dgi',
);
/** Passwords of examples, and places for a password. */
const NO_PASSWORD =
  /^(?:pass(?:word|wd)?|pwd|pw|secret|token|x+|\*+|\.+)$|[#$]\{|\{[\w.-]*\}|^%[sdv]|\$\(|^\$[a-z_]\w*$|^\[.*\]$/i;

const findAddressPasswords = patternFinder(ADDRESS_PASSWORD, ({ indices }, text) => {
  const place = indices?.slice(1).find((group) => group !== undefined);
  return place && !NO_PASSWORD.test(text.slice(place[0], Math.min(place[1], place[0] + JUDGED))) ? place : null;
});

const CLASSES = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/];
const classesIn = (text: string): number => CLASSES.filter((kind) => kind.test(text)).length;

/** A run without spaces that is long enough to be a key. */
const LONG_RUN = /(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}/g;
/** How many characters of a run decide whether it looks random. */
const RANDOM_JUDGED = 32;
/** The least bits a character of a random text of `RANDOM_JUDGED` characters has. Words and paths in any language have fewer. */
const BITS_MIN = 3.9;

/** Whether a run looks random. Only its beginning is judged, so that the result is the same before the rest has arrived. */
function isRandom(run: string): boolean {
  const judged = run.slice(0, RANDOM_JUDGED);
  return classesIn(judged.replace(/[^A-Za-z0-9]/g, '')) === 3 && entropyOf(judged) >= BITS_MIN;
}

function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const sign of text) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const findRandom = patternFinder(LONG_RUN, ({ index, 0: run }) => (isRandom(run) ? [index, index + run.length] : null));

export const FINDERS: readonly Finder[] = [
  ['private-key', patternFinder(PRIVATE_KEY)],
  ['api-key', patternFinder(OTHER_KEYS)],
  ['api-key', findKeys],
  ['password', findAddressPasswords],
  ['password', findAssigned],
];
const RANDOM: Finder = ['random-text', findRandom];

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
      takesSteps: true,
      check: (window) => matchesIn(window, finders),
    };
  },
});
