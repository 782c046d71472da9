import { patternFinder, type TextFinder } from 'signalbox/plugin';

/** A national number of persons. */
interface NationalNumber {
  /** The forms in which people write the number. A match must not touch a letter or digit. */
  readonly form: RegExp;
  /** Whether the check digits are correct. @param signs the letters and digits, in upper case */
  isValid(signs: string): boolean;
  /**
   * Words, one of which must come at most 40 characters before a number without separators. Absent if the form or its check digits are rare
   * enough without a word.
   */
  readonly word?: RegExp;
}

const digits = (signs: string): number[] => [...signs].map(Number);
const weighted = (signs: string, weights: readonly number[]): number =>
  weights.reduce((sum, weight, at) => sum + weight * Number(signs[at]), 0);

function isLuhn(signs: string): boolean {
  const sum = digits(signs)
    .reverse()
    .reduce((total, digit, at) => total + (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0);
  return sum % 10 === 0;
}

/** ISO 7064, modulo 11, 10: the German tax number. One digit of the first ten occurs two or three times. */
function isGerman(signs: string): boolean {
  const counts = new Map<string, number>();
  for (const sign of signs.slice(0, 10)) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  const repeated = [...counts.values()].filter((count) => count > 1);
  if (signs[0] === '0' || repeated.length !== 1 || repeated[0]! > 3) return false;
  let product = 10;
  for (const digit of digits(signs.slice(0, 10))) product = (((digit + product) % 10 || 10) * 2) % 11;
  return (11 - product) % 10 === Number(signs[10]);
}

/** The French number: modulo 97. The departments of Corsica have a letter. */
function isFrench(signs: string): boolean {
  const number = signs.slice(0, 13).replace('2A', '19').replace('2B', '18');
  return /^\d{13}$/.test(number) && 97 - Number(BigInt(number) % 97n) === Number(signs.slice(13));
}

/** The values of signs at odd positions of the Italian number. Letters have the values of the digits, and further ones. */
const ITALIAN_ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

function isItalian(signs: string): boolean {
  const values = [...signs].map((sign) => (/\d/.test(sign) ? Number(sign) : sign.charCodeAt(0) - 65));
  const sum = values.slice(0, 15).reduce((total, value, at) => total + (at % 2 === 0 ? ITALIAN_ODD[value]! : value), 0);
  return sum % 26 === values[15];
}

const SPANISH_LETTERS = 'TRWAGMYFPDXBNJZSQVHLCKE';
const isSpanish = (signs: string): boolean =>
  SPANISH_LETTERS[Number(signs.slice(0, 8).replace(/^[XYZ]/, (sign) => String('XYZ'.indexOf(sign)))) % 23] === signs[8];

const isDutch = (signs: string): boolean =>
  signs !== '000000000' && weighted(signs, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0;

/** The Belgian number: modulo 97; a 2 comes before the number of a person who was born from 2000 on. */
const isBelgian = (signs: string): boolean =>
  isMonthAndDay(signs.slice(2, 6)) &&
  ['', '2'].some((before) => 97 - (Number(before + signs.slice(0, 9)) % 97) === Number(signs.slice(9)));

const isMonthAndDay = (signs: string): boolean =>
  Number(signs.slice(0, 2)) % 20 >= 1 && Number(signs.slice(0, 2)) % 20 <= 12 && isDay(signs.slice(2, 4));
const isDay = (signs: string): boolean => Number(signs) >= 1 && Number(signs) <= 31;

const isPolish = (signs: string): boolean =>
  isMonthAndDay(signs.slice(2, 6)) && weighted(signs, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0;

const isSwedish = (signs: string): boolean => isMonthAndDay(signs.slice(-8, -4)) && isLuhn(signs.slice(-10));

function isBrazilian(signs: string): boolean {
  if (/^(\d)\1*$/.test(signs)) return false;
  const check = (length: number): number => {
    const weights = Array.from({ length }, (_, at) => length + 1 - at);
    return ((weighted(signs, weights) * 10) % 11) % 10;
  };
  return check(9) === Number(signs[9]) && check(10) === Number(signs[10]);
}

/** @param form in which a space stands for any space, also one without a line break */
const number = (form: string, flags = ''): RegExp =>
  new RegExp(
    String.raw`(?<![\p{L}\p{N}])(?:${form.replaceAll(' ', String.raw`\p{Zs}`)})(?![\p{L}\p{N}])`,
    `gu${flags}`,
  );

/** National numbers by country, ISO 3166. */
export const NATIONAL_NUMBERS = {
  be: { form: number(String.raw`\d{2}\.\d{2}\.\d{2}-\d{3}[.-]\d{2}|\d{11}`), isValid: isBelgian },
  br: { form: number(String.raw`\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}`), isValid: isBrazilian },
  de: {
    form: number(String.raw`\d{2} \d{3} \d{3} \d{3}|\d{11}`),
    isValid: isGerman,
    word: /steuer|tax|\bidnr|identifikationsnummer|\btin\b/i,
  },
  es: { form: number(String.raw`\d{8}-?[A-Z]|[XYZ]-?\d{7}-?[A-Z]`, 'i'), isValid: isSpanish },
  fr: {
    form: number(String.raw`[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}`, 'i'),
    isValid: isFrench,
  },
  gb: {
    form: number(String.raw`[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]`),
    isValid: (signs) => !/^(?:BG|GB|KN|NK|NT|TN|ZZ)/.test(signs),
  },
  it: {
    form: number('[A-Z]{6}[0-9L-NP-V]{2}[A-EHLMPRST][0-9L-NP-V]{2}[A-Z][0-9L-NP-V]{3}[A-Z]', 'i'),
    isValid: isItalian,
  },
  nl: {
    form: number(String.raw`\d{4}\.\d{2}\.\d{3}|\d{9}`),
    isValid: isDutch,
    word: /\bbsn\b|burgerservice|sofi-?nummer/i,
  },
  pl: { form: number(String.raw`\d{11}`), isValid: isPolish, word: /pesel/i },
  se: { form: number(String.raw`(?:19|20)?\d{6}[-+]\d{4}`), isValid: isSwedish },
  us: {
    form: number(String.raw`(?!000|666|9)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}`),
    isValid: () => true,
  },
} as const satisfies Readonly<Record<string, NationalNumber>>;

export type Country = keyof typeof NATIONAL_NUMBERS;

/** The characters before a number in which a word may explain it. */
const WORD_WITHIN = 40;
const PLAIN_DIGITS = /^\d+$/;

/** Belgian and Brazilian numbers without separators have no word of their own, so they need a correct check of two digits. */
export const findNationalNumbers = (country: Country): TextFinder => {
  const { form, isValid, word }: NationalNumber = NATIONAL_NUMBERS[country];
  return patternFinder(form, ({ index, 0: written }, text) => {
    if (!isValid(written.toUpperCase().replace(/[^A-Z0-9]/g, ''))) return null;
    const isNamed =
      !word || !PLAIN_DIGITS.test(written) || word.test(text.slice(Math.max(0, index - WORD_WITHIN), index));
    return isNamed ? [index, index + written.length] : null;
  });
};
