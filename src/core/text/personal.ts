import { parseAddress } from '../net/address.ts';
import { allIn, patternFinder, type TextFinder, type TextSpan } from './search.ts';

export type { TextSpan } from './search.ts';

const LOCAL = /[\p{L}\p{N}_.!#$%&'*+/=?^`{|}~-]/u;
/** The name of a host and the signs after it, as long as a sentence or a line of a table can make them. */
const DOMAIN = /[\p{L}\p{N}.-]{1,320}/uy;
const LOCAL_MAX = 64;
const DOMAIN_MAX = 253;
/** The pattern matches only from the first character of a run, because matching from each character would take quadratic time. */
const DOMAIN_END = /(?<![.-])[.-]+$/;
const TOP_LEVEL = /\.[\p{L}][\p{L}\p{N}-]*\p{L}$/u;

/** Finds e-mail addresses: searches in both directions from each `@`. */
export const findEmails: TextFinder = (text, from, until, found) => {
  let last = from;
  for (let at = text.indexOf('@', from); at >= 0; at = text.indexOf('@', at + 1)) {
    let begin = at;
    while (begin > last && at - begin < LOCAL_MAX && LOCAL.test(text[begin - 1]!)) begin--;
    if (begin >= until) break;
    DOMAIN.lastIndex = at + 1;
    const domain = DOMAIN.exec(text)?.[0].replace(DOMAIN_END, '') ?? '';
    if (begin === at || domain.length > DOMAIN_MAX || !TOP_LEVEL.test(domain)) continue;
    last = at + 1 + domain.length;
    found.push([begin, last]);
  }
  return Math.max(last, until);
};

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

export const findIbans: TextFinder = (text, from, until, found) => {
  let last = from;
  IBAN_START.lastIndex = from;
  for (let match = IBAN_START.exec(text); match !== null; match = IBAN_START.exec(text)) {
    const { index, 0: start } = match;
    if (index >= until) break;
    const length = IBAN_LENGTHS.get(start.slice(0, 2).toUpperCase());
    if (length === undefined || index < last) continue;
    const end = endOf(text, index, length);
    if (end === null || !isIban(text.slice(index, end))) continue;
    last = end;
    found.push([index, last]);
  }
  return Math.max(last, until);
};

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

/** The beginning of a group of at least three digits. */
const CARD_START = /(?<!\d)\d{3}/g;
const CARD_MIN = 13;
const CARD_MAX = 19;

/**
 * Finds card numbers: 13 to 19 digits with a correct check digit and no adjacent digit, in groups of at least three with a space or a dash
 * between them. The search also finds several card numbers in a row.
 */
export const findCards: TextFinder = (text, from, until, found) => {
  let last = from;
  CARD_START.lastIndex = from;
  for (let match = CARD_START.exec(text); match !== null && match.index < until; match = CARD_START.exec(text)) {
    const end = cardEnd(text, match.index);
    if (end === null) continue;
    found.push([match.index, end]);
    CARD_START.lastIndex = last = end;
  }
  return Math.max(last, until);
};

const isDigit = (sign: string | undefined): boolean => sign !== undefined && sign >= '0' && sign <= '9';

/** Returns the end of the longest card number from the beginning of a group; null if there is none. */
function cardEnd(text: string, from: number): number | null {
  const digits: number[] = [];
  let end: number | null = null;
  for (let at = from; ; at++) {
    for (; isDigit(text[at]); at++) if (digits.push(Number(text[at])) > CARD_MAX) return end;
    if (digits.length >= CARD_MIN && isLuhn(digits)) end = at;
    const isFollowed = IS_SEPARATOR.test(text.charAt(at)) && hasGroup(text, at + 1);
    if (!isFollowed) return end;
  }
}

const hasGroup = (text: string, at: number): boolean =>
  isDigit(text[at]) && isDigit(text[at + 1]) && isDigit(text[at + 2]);

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
/** The most characters of an address with a port. */
const WITH_PORT_MAX = IP_LENGTH_MAX + 6;

/** Finds IPv4 and IPv6 addresses, without the punctuation after them and without a port. */
export const findIps: TextFinder = patternFinder(IP_RUN, ({ index, 0: run }, text) => {
  if (run.length < 2 || !/[.:]/.test(run) || isWordPart(text[index - 1]) || isWordPart(text[index + run.length]))
    return null;
  let end = run.length;
  while (end > 0 && (run[end - 1] === '.' || run[end - 1] === ':')) end--;
  if (end > WITH_PORT_MAX) return null;
  const bare = run.slice(0, end);
  const address = [run, run.replace(/[.:]$/, ''), bare, bare.replace(/:\d+$/, '')].find(isIp);
  return address === undefined ? null : [index, index + address.length];
});

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
export const findPhones: TextFinder = patternFinder(PHONE_RUN, ({ index, 0: run }, text) => {
  if (isWordPart(text[index - 1]) || !(PHONE_START.test(run) || AMERICAN.test(run))) return null;
  const written = run.slice(0, lastDigit(run) + 1);
  if (!hasDigits(written) || NO_PHONE.test(written)) return null;
  return [index, index + written.length];
});

/** Whether a text has the digits of a phone number. */
function hasDigits(text: string): boolean {
  let count = 0;
  for (let at = 0; at < text.length && count < PHONE_DIGITS_MIN; at++) if (isDigit(text[at])) count++;
  return count === PHONE_DIGITS_MIN;
}

function lastDigit(run: string): number {
  let at = run.length - 1;
  while (at >= 0 && !isDigit(run[at])) at--;
  return at;
}

export const emailsIn = (text: string): TextSpan[] => allIn(findEmails, text);
export const ibansIn = (text: string): TextSpan[] => allIn(findIbans, text);
export const cardsIn = (text: string): TextSpan[] => allIn(findCards, text);
export const ipsIn = (text: string): TextSpan[] => allIn(findIps, text);
export const phonesIn = (text: string): TextSpan[] => allIn(findPhones, text);
