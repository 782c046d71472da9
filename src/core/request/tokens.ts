/** Number of characters that are read of a long text, and the number of pieces, spread over the text, in which they are read. */
const SAMPLE = 2_000;
const SAMPLES = 4;

/**
 * Estimates the tokens of a text under a typical byte-pair tokenizer, from the classes of its characters. Long texts are sampled, so the
 * time is bounded. `bun bench/tokens.ts` measures the errors. The estimate is not an upper bound, and callers are not charged by it if the
 * upstream reports its usage.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(tokenWeight(text));
}

/** Estimates the tokens of a text without rounding. */
export const tokenWeight = (text: string): number => weightWithin(text, 0, text.length);

/** Estimates the tokens of the part of a text from `start` to `end`, without rounding. With default values, it would take five times as long. */
export function weightWithin(text: string, start: number, end: number): number {
  const length = end - start;
  if (length <= SAMPLE) return weigh(text, start, end);
  const piece = SAMPLE / SAMPLES;
  const step = (length - piece) / (SAMPLES - 1);
  let weight = 0;
  for (let i = 0; i < SAMPLES; i++) {
    const from = start + Math.floor(i * step);
    weight += weigh(text, from, from + piece);
  }
  return (weight * length) / SAMPLE;
}

/** Adds the expected tokens and the UTF-8 bytes of a text to a total. */
export function addTextSize(size: { tokens: number; bytes: number }, text: string): void {
  size.tokens += estimateTokens(text);
  const isAscii = text.length <= SAMPLE && last.codes < 0x80;
  size.bytes += isAscii ? text.length : utf8Bytes(text);
}

/**
 * Classes of characters, and what a character adds in thousandths of a token: `first` after a character of another class, `next` after a
 * character of the same class. `codes` are hexadecimal ranges. The figures are fitted to the texts of `bench/tokens.ts`. The figures lie
 * between o200k_base and cl100k_base where these tokenizers differ; for Chinese, Japanese and Korean the larger count applies.
 */
const CLASSES = {
  // Georgian, Ethiopic and all characters that belong to no other class.
  other: { first: 1200, next: 1200, codes: '0-ffff' },
  blank: { first: 0, next: 50, codes: '0-20' },
  newline: { first: 250, next: 50, codes: 'a-a d-d' },
  punctuation: { first: 950, next: 130, codes: '21-2f 3a-40 5b-60 7b-7f' },
  // Digits count in groups of three: see `weigh`.
  digit: { first: 1000, next: 1000, codes: '30-39' },
  upper: { first: 350, next: 300, codes: '41-5a' },
  lower: { first: 600, next: 115, codes: '61-7a' },
  accented: { first: 1400, next: 1450, codes: 'c0-2ff 1e00-1eff' },
  greek: { first: 900, next: 620, codes: '370-3ff 1f00-1fff' },
  cyrillic: { first: 1200, next: 250, codes: '400-52f' },
  hebrew: { first: 1200, next: 610, codes: '590-5ff' },
  arabic: { first: 1200, next: 390, codes: '600-77f fb50-fdff fe70-feff' },
  indic: { first: 780, next: 780, codes: '900-dff' },
  // Scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer.
  thai: { first: 660, next: 660, codes: 'e00-109f 1780-17ff' },
  han: { first: 1100, next: 1100, codes: '2e80-2fff 3400-9fff f900-faff' },
  kana: { first: 1100, next: 1100, codes: '3040-30ff' },
  hangul: { first: 1350, next: 1350, codes: '1100-11ff ac00-d7af' },
  // Typographic and full-width punctuation, arrows, pictographs, joiners and combining accents.
  symbol: { first: 1000, next: 1000, codes: '80-bf 2000-200c 200e-218f 3000-303f ff00-ffef' },
  pictograph: { first: 1900, next: 1900, codes: '2190-2bff' },
  mark: { first: 950, next: 950, codes: '300-36f 200d-200d fe00-fe0f' },
  // Each half of a character that needs two UTF-16 units, mostly emoji.
  surrogate: { first: 1200, next: 1200, codes: 'd800-dfff' },
} as const;
type Class = keyof typeof CLASSES;

/** Thousandths of a token that a character adds after a character of a particular class, where `first` is not accurate. */
const AFTER: readonly (readonly [before: Class, Class, number])[] = [
  // A word that begins with a capital letter.
  ['upper', 'lower', 750],
  ['upper', 'accented', CLASSES.accented.next],
  ['lower', 'accented', CLASSES.accented.next],
  ['accented', 'lower', CLASSES.lower.next],
  ['accented', 'upper', CLASSES.upper.next],
  // `weigh` treats the start of a piece as if a lower-case letter came before it, so these letters count as the inside of a word there.
  ['lower', 'greek', CLASSES.greek.next],
  ['lower', 'cyrillic', CLASSES.cyrillic.next],
  ['lower', 'hebrew', CLASSES.hebrew.next],
  ['lower', 'arabic', CLASSES.arabic.next],
  // Tokenizers split `camelCase`, `v2x` and base64 between such characters.
  ['lower', 'upper', 1000],
  ['digit', 'upper', 1000],
  ['digit', 'lower', 1000],
  // A token for a word includes the bracket or quote before it.
  ['punctuation', 'lower', 350],
  ['punctuation', 'upper', 500],
  // Indentation after a line break.
  ['newline', 'blank', 200],
];

const NAMES = Object.keys(CLASSES) as Class[];
const DIGIT = NAMES.indexOf('digit');
const BLANK = NAMES.indexOf('blank');
const LOWER = NAMES.indexOf('lower');
/** Weights are indexed by the class of the previous character, in rows of this many bits, and then by the class of the character. */
const ROW = 5;
const TOKEN = 1_000;

const classOf = new Uint8Array(65_536);
const weights = new Int32Array(NAMES.length << ROW);
NAMES.forEach((name, at) => {
  const { first, next, codes } = CLASSES[name];
  for (const range of codes.split(' ')) {
    const [from = 0, to = 0] = range.split('-').map((code) => Number.parseInt(code, 16));
    classOf.fill(at, from, to + 1);
  }
  NAMES.forEach((_, before) => {
    weights[(before << ROW) | at] = before === at ? next : first;
  });
});
for (const [before, name, weight] of AFTER) weights[(NAMES.indexOf(before) << ROW) | NAMES.indexOf(name)] = weight;

const encoder = new TextEncoder();
/** A buffer that `encodeInto` writes to in order to count bytes. No code reads this buffer. */
const scratch = new Uint8Array(65_535);

/** The bitwise OR of all codes that the last call of `weigh` read. If the OR shows that a text is ASCII, its bytes need not be counted. */
const last = { codes: 0 };

/**
 * Estimates the tokens of a part of a text. The text before `from` counts as the rest of a word, so that the parts of a text add up to the
 * whole.
 */
function weigh(text: string, from: number, to: number): number {
  let weight = 0;
  let before = LOWER;
  let digits = 0;
  let codes = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    codes |= code;
    const at = classOf[code]!;
    if (at === DIGIT) {
      digits = before === DIGIT ? digits + 1 : 0;
      // A group of three digits is one token, and a space before the group is another token.
      if (digits % 3 === 0) weight += TOKEN;
      if (before === BLANK) weight += TOKEN;
    } else weight = (weight + weights[(before << ROW) | at]!) | 0;
    before = at;
  }
  last.codes = codes;
  return weight / TOKEN;
}

/** A UTF-16 unit takes at most 3 bytes. A piece of text that might not fit the buffer would be encoded much more slowly. */
const FITS = scratch.length / 3;

/** Returns the UTF-8 bytes of a text. A byte-level tokenizer never makes more tokens than bytes. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    const end = at + FITS;
    const isSplit = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
    const next = isSplit ? end - 1 : end;
    bytes += encoder.encodeInto(text.slice(at, next), scratch).written;
    at = next;
  }
  return bytes;
}
