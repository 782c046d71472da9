import { DIGIT, FOLDED, GAP, MARK } from './letters.ts';

/**
 * Reads the number at `from`, such as `1,500`, `3/8`, a date, a time or a telephone number. For a range of numbers, `value` is the end of
 * the range.
 * @returns the number, with `to` after its last digit. Dates, times, versions and telephone numbers are not quantities. A number next to an
 * operator is an operand.
 */
export function numberAt(text: string, from: number, to: number) {
  let at = from;
  let value = 0;
  let joints = 0;
  let isFraction = false;
  for (; at < to; at++) {
    const code = text.charCodeAt(at);
    if (FOLDED[code] === DIGIT) value = isFraction ? value : value * 10 + digitOf(code);
    else if (at + 1 >= to || FOLDED[text.charCodeAt(at + 1)] !== DIGIT) break;
    else if (code === SLASH) joints++;
    else if (code === COLON || code === HYPHEN || code === DASH) {
      joints += 2;
      value = 0;
      isFraction = false;
    } else if (code !== POINT && code !== COMMA) break;
    else isFraction = digitsFrom(text, at + 1, to) !== 3;
  }
  const isYear = at - from === 4 && value >= 1000 && value < 2200;
  const isOperand = !isYear && (hasOperator(text, from - 1, -1) || hasOperator(text, at, 1));
  return { value, to: at, isQuantity: joints <= 1, isOperand };
}

/** Counts digits, up to 4. A group of three digits means thousands; other counts of digits mean a fraction. */
function digitsFrom(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && at < from + 4 && FOLDED[text.charCodeAt(at)] === DIGIT) at++;
  return at - from;
}

const SLASH = 0x2f;
const COLON = 0x3a;
const HYPHEN = 0x2d;
/** The dash between the ends of a range. */
const DASH = 0x2013;
const POINT = 0x2e;
const COMMA = 0x2c;
const MINUS = 0x2212;

function digitOf(code: number): number {
  if (code < 0x3a) return code - 0x30;
  if (code >= 0xff10) return code - 0xff10;
  // Arabic digits begin at a multiple of 16; Persian and Indic digits begin at a multiple of 16 or 6 code points later.
  return (code - (code < 0x0700 ? 0 : 6)) & 0xf;
}

/** Operators that are always arithmetic; operators that need an operand on both sides; operators that also need spaces. */
const SURE = new Set([...'^=√'].map((sign) => sign.charCodeAt(0)));
const JOINING = new Set([...'+*×÷'].map((sign) => sign.charCodeAt(0)));
const LOOSE = new Set([...'-/−'].map((sign) => sign.charCodeAt(0)));
const PERCENT = 0x25;

/** Returns whether an operator with an operand is next to the position, possibly after a space. */
function hasOperator(text: string, from: number, step: -1 | 1): boolean {
  const hasBlank = text.charCodeAt(from) === 0x20;
  const place = hasBlank ? from + step : from;
  const sign = text.charCodeAt(place);
  if (FOLDED[sign] !== GAP || sign === 0x20 || sign === COMMA || sign === POINT) return false;
  if (sign === PERCENT) return step > 0 && hasDigitNear(text, place + 1);
  if (SURE.has(sign)) return true;
  const next = text.charCodeAt(place + step);
  const beyond = next === 0x20 ? text.charCodeAt(place + 2 * step) : next;
  if (JOINING.has(sign)) return FOLDED[beyond]! >= DIGIT || beyond === 0x28 || beyond === 0x29;
  // Without spaces, these characters join dates and ranges.
  return hasBlank && FOLDED[beyond] === DIGIT && LOOSE.has(sign);
}

/** Returns whether a digit is near the position, as in "15 % of 80". */
function hasDigitNear(text: string, from: number): boolean {
  for (let at = from; at < from + 8 && at < text.length; at++) if (FOLDED[text.charCodeAt(at)] === DIGIT) return true;
  return false;
}

const QUOTES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '“': '”',
  '„': '“”"',
  '«': '»',
  '»': '«',
  '「': '」',
  '『': '』',
  '‘': '’',
};

/** Returns the end of the quotation that begins at `at`; 0 if no quotation begins there. */
export function quoteEnd(text: string, at: number, to: number): number {
  const open = text.charAt(at);
  const closing = QUOTES[open];
  if (closing === undefined) return 0;
  const isPlain = open === "'" || open === '"';
  // A quotation mark directly after a letter or digit is an apostrophe or means inches.
  if (isPlain && isLetter(text, at - 1)) return 0;
  for (const close of closing) {
    let end = text.indexOf(close, at + 3);
    while (isPlain && end >= 0 && isLetter(text, end + 1)) end = text.indexOf(close, end + 1);
    if (end >= 0 && end < to) return end;
  }
  return 0;
}

/** Characters that begin code and formulas. Most punctuation characters begin neither code nor formulas. */
const OF_CODE = new Uint8Array(0x10000);
for (const sign of '(_=&|:-^\\$↦→') OF_CODE[sign.charCodeAt(0)] = 1;
// Letter-like symbols such as ℝ, and mathematical operators.
OF_CODE.fill(1, 0x2102, 0x2125).fill(1, 0x2200, 0x2300);

/** Returns whether `isDefinition`, `isSymbol`, `isFlag` or `isLatex` may be true for a character. `mayBeOfCode` is a fast first test. */
export const mayBeOfCode = (code: number): boolean => OF_CODE[code] === 1;

/** Returns whether an operator or name that only code has begins at a position: `==`, `=>`, `f()`, `a_b`, `&&`, `::`. */
export function isSymbol(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const next = text.charCodeAt(at + 1);
  if (code === 0x28) return next === 0x29 && isLetter(text, at - 1);
  if (code === 0x5f) return isLetter(text, at - 1) && isLetter(text, at + 1);
  if (code === 0x3d) return next === 0x3d || next === 0x3e;
  return (code === 0x26 || code === 0x7c || code === COLON) && next === code;
}

/** Returns whether the character ends a sentence, not only a number or a name. */
export function isSentenceEnd(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code === 0x3002 || code === 0xff1f || code === 0xff01) return true;
  return (code === POINT || code === 0x3f || code === 0x21) && text.charCodeAt(at + 1) <= 0x20;
}

/** Returns whether an option of a command begins at a position: `-n`, `--name`. */
export function isFlag(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1);
  return (
    text.charCodeAt(at) === HYPHEN && text.charCodeAt(at - 1) === 0x20 && (next === HYPHEN || isLetter(text, at + 1))
  );
}

/** Returns whether a LaTeX command, a formula in dollar signs, a power or a mathematical symbol begins at a position. */
export function isLatex(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  const next = text.charCodeAt(at + 1);
  if (code >= 0x2200 && code < 0x2300) return code !== MINUS;
  if (code === 0x28) return isApplied(text, at);
  // Letter-like symbols such as ℝ, and the arrow ↦.
  if ((code >= 0x2102 && code < 0x2125) || code === 0x21a6) return true;
  if (code === 0x2192) return isLetter(text, at - 1) || isLetter(text, at + 1);
  if (code === 0x5e) return FOLDED[text.charCodeAt(at - 1)]! >= DIGIT && FOLDED[next]! >= DIGIT;
  if (code === 0x5c) return next < 0x80 && isLetter(text, at + 1);
  return code === 0x24 && (next === 0x24 || next === 0x5c || isLetter(text, at + 1));
}

/** Returns whether a function of one letter with an argument is at a position: `f(x)`. */
const isApplied = (text: string, at: number): boolean =>
  isLetter(text, at - 1) && FOLDED[text.charCodeAt(at - 2)]! <= MARK && FOLDED[text.charCodeAt(at + 1)]! >= DIGIT;

/**
 * Returns whether a word is the name of an error, such as `KeyError` or `IOException`, or of a state in three or more words, such as
 * `CrashLoopBackOff`.
 */
export function isErrorName(text: string, from: number, to: number): boolean {
  let capitals = 0;
  for (let at = from; at < to && capitals >= 0; at++)
    if (isCapital(text, at)) capitals = isCapital(text, at + 1) ? -1 : capitals + 1;
  if (capitals > 2) return true;
  const last = text.charCodeAt(to - 1);
  if (last === 0x72) return to - from > 6 && text.endsWith('Error', to);
  return last === 0x6e && to - from > 10 && text.endsWith('Exception', to);
}

const isCapital = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code > 0x40 && code < 0x5b;
};
const isLetter = (text: string, at: number): boolean => FOLDED[text.charCodeAt(at)]! > DIGIT;

/**
 * Returns whether a word is a name in a formula: `sin(x)`, `e^x`, `\in`, `d_1`. A name in a formula does not indicate a natural language.
 */
export function isOfFormula(text: string, from: number, to: number): boolean {
  const next = text.charCodeAt(to);
  if (next === 0x28 || next === 0x5e || next === 0x5f) return true;
  const before = text.charCodeAt(from - 1);
  return before === 0x5c || before === 0x5e || before === 0x5f;
}

/** Matches the definition of a function. `function f(x)` may also be mathematics, unless a block follows. */
const DEFINES = /\b(?:(?:def|fn|func)\s+\w+|function\s+\w*)$/;
const BLOCK = /^\([^()]{0,80}\)\s*(?:->\s*\w+\s*)?[:{]/;

/** Returns whether a parenthesis opens the parameters of a function in code. */
export function isDefinition(text: string, at: number): boolean {
  if (text.charCodeAt(at) !== 0x28) return false;
  return DEFINES.test(text.slice(Math.max(0, at - 48), at)) && BLOCK.test(text.slice(at, at + 120));
}
