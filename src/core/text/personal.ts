import { parseAddress } from '../net/address.ts';

/** The start and end of a match, in UTF-16 units. */
export type TextSpan = readonly [from: number, to: number];

const DIGIT = /\d/g;
const digitsIn = (text: string): number => text.match(DIGIT)?.length ?? 0;

const LOCAL = /[\p{L}\p{N}_.!#$%&'*+/=?^`{|}~-]/u;
const DOMAIN = /[\p{L}\p{N}.-]+/uy;
const LOCAL_MAX = 64;
/** The pattern matches only from the first character of a run, because matching from each character would take quadratic time. */
const DOMAIN_END = /(?<![.-])[.-]+$/;
const TOP_LEVEL = /\.[\p{L}][\p{L}\p{N}-]*\p{L}$/u;

/** Finds e-mail addresses: searches in both directions from each `@`. */
export function emailsIn(text: string): TextSpan[] {
  const found: TextSpan[] = [];
  let last = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let from = at;
    while (from > last && at - from < LOCAL_MAX && LOCAL.test(text[from - 1]!)) from--;
    DOMAIN.lastIndex = at + 1;
    const domain = DOMAIN.exec(text)?.[0].replace(DOMAIN_END, '') ?? '';
    if (from === at || !TOP_LEVEL.test(domain)) continue;
    last = at + 1 + domain.length;
    found.push([from, last]);
  }
  return found;
}

/** The length of IBANs by country. */
const IBAN_LENGTHS = new Map(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28
LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29
RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30`
    .split(/\s+/)
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);
const IBAN_START = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}/g;

export function ibansIn(text: string): TextSpan[] {
  const found: TextSpan[] = [];
  let last = 0;
  for (const { index, 0: start } of text.matchAll(IBAN_START)) {
    const length = IBAN_LENGTHS.get(start.slice(0, 2).toUpperCase());
    if (length === undefined || index < last) continue;
    const end = endOf(text, index, length);
    if (end === null || !isIban(text.slice(index, end))) continue;
    last = end;
    found.push([index, last]);
  }
  return found;
}

/** Any space or dash between the groups of a number. Many languages put spaces without a line break there, U+00A0 and U+202F. */
const SEPARATOR = String.raw`[\p{Zs}\p{Pd}]`;
const IS_SEPARATOR = new RegExp(SEPARATOR, 'u');
const SEPARATORS = new RegExp(SEPARATOR, 'gu');

/** Returns the end of `length` letters and digits with optional separators; null if there are fewer. */
function endOf(text: string, from: number, length: number): number | null {
  let count = 0;
  for (let at = from; at < text.length; at++) {
    const isSeparator = !isLetterOrDigit(text[at]) && IS_SEPARATOR.test(text.charAt(at));
    if (!isLetterOrDigit(isSeparator ? text[at - 1] : text[at])) return null;
    if (!isSeparator && ++count === length) return isLetterOrDigit(text[at + 1]) ? null : at + 1;
  }
  return null;
}

function isLetterOrDigit(sign: string | undefined): boolean {
  return sign !== undefined && (isDigit(sign) || (sign >= 'A' && sign <= 'Z') || (sign >= 'a' && sign <= 'z'));
}

/** Whether the check digits are correct: modulo 97, the first four characters moved to the end. */
function isIban(written: string): boolean {
  const text = written.replace(SEPARATORS, '').toUpperCase();
  let rest = 0;
  for (const sign of text.slice(4) + text.slice(0, 4)) {
    const value = Number.parseInt(sign, 36);
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97;
  }
  return rest === 1;
}

/** Groups of at least three digits, with a separator between them. */
const CARD_RUN = new RegExp(String.raw`\d{3,}(?:${SEPARATOR}\d{3,})*`, 'gu');
const CARD_MIN = 13;
const CARD_MAX = 19;

/**
 * Finds card numbers: 13 to 19 digits with a correct check digit and no adjacent digit. The search also finds several card numbers in a
 * row.
 */
export function cardsIn(text: string): TextSpan[] {
  const found: TextSpan[] = [];
  for (const { index, 0: run } of text.matchAll(CARD_RUN)) {
    if (run.length < CARD_MIN) continue;
    for (let at = 0; at < run.length; ) {
      const end = isDigit(run[at]) && !isDigit(run[at - 1]) ? cardEnd(run, at) : null;
      if (end !== null) found.push([index + at, index + end]);
      at = end ?? at + 1;
    }
  }
  return found;
}

const isDigit = (sign: string | undefined): boolean => sign !== undefined && sign >= '0' && sign <= '9';

/** Returns the end of the longest card number from here; null if there is none. */
function cardEnd(run: string, from: number): number | null {
  const digits: number[] = [];
  let end: number | null = null;
  for (let at = from; at < run.length && digits.length < CARD_MAX; at++) {
    if (!isDigit(run[at])) continue;
    digits.push(Number(run[at]));
    if (digits.length >= CARD_MIN && !isDigit(run[at + 1]) && isLuhn(digits)) end = at + 1;
  }
  return end;
}

function isLuhn(digits: readonly number[]): boolean {
  let sum = 0;
  for (const [at, digit] of digits.entries()) {
    const doubled = (digits.length - at) % 2 === 0 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

const IP_RUN = /[0-9A-Fa-f:.]+/g;
const IP_LENGTH_MAX = 45;
/** The pattern matches only from the first character of a run, like `DOMAIN_END`. */
const IP_END = /(?<![.:])[.:]+$/;

/** Finds IPv4 and IPv6 addresses, without the punctuation after them and without a port. */
export function ipsIn(text: string): TextSpan[] {
  const found: TextSpan[] = [];
  for (const { index, 0: run } of text.matchAll(IP_RUN)) {
    if (run.length < 2 || !/[.:]/.test(run) || isWordPart(text[index - 1]) || isWordPart(text[index + run.length])) {
      continue;
    }
    const bare = run.replace(IP_END, '');
    const address = [run, run.replace(/[.:]$/, ''), bare, bare.replace(/:\d+$/, '')].find(isIp);
    if (address !== undefined) found.push([index, index + address.length]);
  }
  return found;
}

const isWordPart = (sign: string | undefined): boolean => sign !== undefined && /[\w]/.test(sign);

function isIp(text: string): boolean {
  if (text.length > IP_LENGTH_MAX) return false;
  const octets = text.split('.');
  // Leading zeros in an IP address are accepted, because people write them.
  const isV4 = octets.length === 4 && octets.every((octet) => /^\d{1,3}$/.test(octet) && Number(octet) < 256);
  return isV4 || (text.includes(':') && text !== '::' && parseAddress(text) !== null);
}

const PHONE_RUN = /[+(\d][\d+()./\p{Zs}-]*/gu;
const PHONE_DIGITS_MIN = 7;
const PHONE_START = /^(?:\+\s?\d|00|0|\()/;
const AMERICAN = /^(?:1[-.\p{Zs}])?\d{3}[-.\p{Zs}]\d{3}[-.\p{Zs}]\d{4}(?!\d)/u;
const NO_PHONE = /^(?:\d+\.\d+|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([-/.])\d{1,2}\1\d{2,4})$/;

/**
 * Finds numbers that start like phone numbers, `+49`, `0049`, `030`, `(030)`, or have the American format, with extensions. The search
 * prefers false positives to missed numbers.
 */
export function phonesIn(text: string): TextSpan[] {
  const found: TextSpan[] = [];
  for (const { index, 0: run } of text.matchAll(PHONE_RUN)) {
    const written = run.slice(0, lastDigit(run) + 1);
    if (digitsIn(written) < PHONE_DIGITS_MIN || NO_PHONE.test(written) || isWordPart(text[index - 1])) continue;
    if (PHONE_START.test(written) || AMERICAN.test(written)) found.push([index, index + written.length]);
  }
  return found;
}

function lastDigit(run: string): number {
  let at = run.length - 1;
  while (at >= 0 && !isDigit(run[at])) at--;
  return at;
}
