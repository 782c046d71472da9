/** The fewest bits by the estimate of `strengthOf` with which a key of another gateway is imported. */
export const KEY_BITS_MIN = 128;

/** A word in front of the random part, such as `sk-`. */
const PREFIX = /^(?:sk|pk|rk|key|api)[-_]/i;
const SEPARATORS = /[^A-Za-z0-9]+/;
/** A word or a number. */
const PLAIN_PART = /^(?:[A-Za-z]+|\d+)$/;
/** The most capitals of words, as a share of their letters. Half of the letters of a random text are capitals. */
const CAPITALS_MAX = 0.2;
const BITS_OF_LETTER_IN_WORD = 2;

/**
 * Estimates how many random bits a key can contain, from its text alone: its characters, each with the bits of the alphabet that the key
 * uses. Repeated texts count once, runs such as `abcdef` or `1234` count as one character if they are most of the key, and a letter of a
 * plain word counts 2 bits. The estimate finds keys that people made up. It cannot find a key that only looks random.
 */
export function strengthOf(key: string): number {
  const text = unrepeated(key.replace(PREFIX, ''));
  const steps = [...text].filter((_, at) => Math.abs(text.charCodeAt(at) - text.charCodeAt(at - 1)) <= 1).length;
  const length = steps * 2 > text.length ? text.length - steps : text.length;
  const parts = text.split(SEPARATORS).filter((part) => part !== '');
  if (areWords(parts)) {
    const letters = parts.join('').replaceAll(/\d/g, '').length;
    const digits = parts.join('').length - letters;
    return Math.min(length, letters) * BITS_OF_LETTER_IN_WORD + Math.min(length, digits) * Math.log2(10);
  }
  const different = new Set(text).size;
  const alphabet = alphabetOf(text);
  // Separators of a hexadecimal text, such as those of a UUID, are always the same.
  const counted = alphabet === 16 ? length - (text.length - parts.join('').length) : length;
  return counted * Math.log2(Math.min(alphabet, different ** 2));
}

/** Whether all parts of a text are words or numbers: letters of one case, or with few capitals. */
function areWords(parts: readonly string[]): boolean {
  const letters = parts.join('').replaceAll(/\d/g, '');
  const capitals = letters.replaceAll(/[a-z]/g, '').length;
  const isOfWords = capitals === letters.length || capitals <= letters.length * CAPITALS_MAX;
  return isOfWords && parts.every((part) => PLAIN_PART.test(part));
}

/** Returns the shortest text whose repetition is the text. */
function unrepeated(text: string): string {
  const period = `${text}${text}`.indexOf(text, 1);
  return period > 0 && period < text.length ? text.slice(0, period) : text;
}

/** The size of the smallest usual alphabet that has all characters of a text. */
function alphabetOf(text: string): number {
  if (/^(?:[\da-f\W_]+|[\dA-F\W_]+)$/.test(text)) return 16;
  return /[a-z]/.test(text) && /[A-Z]/.test(text) ? 64 : 36;
}
