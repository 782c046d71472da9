import { MARK, type Scanner } from './scanner.ts';
import { KIND } from './vocabulary.ts';

/**
 * The features of a text's form, with their mean and standard deviation over 7,682 questions of two public benchmarks
 * (MMLU-Pro and the mixed questions of LLMRouter), as `bench/fit-learned.ts` prints them. They only set the scale.
 */
const FORM_FEATURES: readonly (readonly [name: string, mean: number, deviation: number])[] = [
  ['characters', 5.52, 1.108],
  ['tokens', 4.21, 1.213],
  ['word length', 4.088, 0.9078],
  ['digits', 0.06137, 0.07795],
  ['asks', 0.5378, 0.4986],
  ['lines', 1.316, 1.189],
  ['operators', 0.7707, 1.237],
  ['LaTeX', 0.194, 0.3954],
  ['code', 0.1638, 0.3701],
  ['options', 1.249, 1.189],
  ['negations', 0.1537, 0.401],
  ['conditionals', 0.2474, 0.4079],
  ['capitals', 0.03613, 0.03202],
  ['long words', 0.1199, 0.09278],
  ['sentences', 1.811, 1.056],
  ['numbers', 1.662, 1.629],
  ['longest number', 1.637, 1.653],
  ['calculations', 0.3568, 0.4499],
  ['which', 0.1668, 0.3728],
  ['who or when', 0.2256, 0.418],
  ['how or why', 0.194, 0.3954],
  ['commas', 0.9839, 1.112],
  ['beyond ASCII', 0.001925, 0.007031],
];

export const DENSE = FORM_FEATURES.length;
export const FORM_FEATURE_NAMES: readonly string[] = FORM_FEATURES.map(([name]) => name);
/** Index of the feature that holds the length of a question. */
export const LENGTH_INDEX = FORM_FEATURE_NAMES.indexOf('tokens');

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
const log = (count: number): number => Math.log(1 + count);
const flag = (is: boolean): number => (is ? 1 : 0);
const NUMBER_MAX = 8;

/** The length feature of a text, by its number of tokens. */
export const lengthFeature = (tokens: number): number => log(tokens);

/** Writes the form features of the last scanned text into `into`. */
export function writeFormFeatures(scanned: Scanner, into: Float64Array): void {
  const { chars, words, kinds, marks } = scanned;
  into[0] = log(chars);
  into[1] = lengthFeature(scanned.tokens);
  into[2] = share(scanned.letters, words);
  into[3] = share(scanned.digits, chars);
  into[4] = flag(marks[MARK.ask]! > 0);
  into[5] = log(scanned.lines);
  into[6] = log(marks[MARK.operator]! + marks[MARK.backslash]!);
  into[7] = flag(marks[MARK.latex]! + marks[MARK.backslash]! > 1);
  into[8] = flag(kinds[KIND.code]! + marks[MARK.brace]! > 1);
  into[9] = log(scanned.options);
  into[10] = log(kinds[KIND.negation]!);
  into[11] = log(kinds[KIND.conditional]!);
  into[12] = share(scanned.capitals, chars);
  into[13] = share(scanned.longWords, words);
  into[14] = log(scanned.sentences);
  into[15] = log(scanned.numbers);
  into[16] = Math.min(NUMBER_MAX, scanned.longestNumber);
  into[17] = log(kinds[KIND.calculation]!);
  into[18] = flag(kinds[KIND.which]! > 0);
  into[19] = flag(kinds[KIND.person]! > 0);
  into[20] = flag(kinds[KIND.explanation]! > 0);
  into[21] = log(marks[MARK.comma]!);
  into[22] = share(scanned.foreign, chars);
}

/** The maximum distance from the mean, in standard deviations. */
export const DEVIATIONS_MAX = 3;

const MEANS = Float64Array.from(FORM_FEATURES, ([, mean]) => mean);
const DEVIATIONS = Float64Array.from(FORM_FEATURES, ([, , deviation]) => deviation);

/** The distance of a feature from its mean in standard deviations, at most `DEVIATIONS_MAX` either way. */
export function standardize(figure: number, at: number): number {
  const off = (figure - MEANS[at]!) / DEVIATIONS[at]!;
  return Math.max(-DEVIATIONS_MAX, Math.min(DEVIATIONS_MAX, off));
}
