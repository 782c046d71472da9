import { MARK, type Scanner } from './scanner.ts';
import { KIND } from './vocabulary.ts';

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
const log = (count: number): number => Math.log(1 + count);
const flag = (is: boolean): number => (is ? 1 : 0);

const NUMBER_MAX = 8;

/** The length feature of a text, by its number of tokens. */
export const lengthFeature = (tokens: number): number => log(tokens);

interface FormFeature {
  readonly name: string;
  readonly mean: number;
  readonly deviation: number;
  /** Its value for the last scanned text. */
  of(scanned: Scanner): number;
}

const feature = (name: string, mean: number, deviation: number, of: FormFeature['of']): FormFeature => ({
  name,
  mean,
  deviation,
  of,
});

/**
 * The features of a text's form, with their mean and standard deviation over 7,682 questions of two public benchmarks
 * (MMLU-Pro and the mixed questions of LLMRouter), as `bench/fit-learned.ts` prints them. They only set the scale.
 */
const FORM_FEATURES: readonly FormFeature[] = [
  feature('characters', 5.52, 1.108, ({ chars }) => log(chars)),
  feature('tokens', 4.21, 1.213, ({ tokens }) => lengthFeature(tokens)),
  feature('word length', 4.088, 0.9078, ({ letters, words }) => share(letters, words)),
  feature('digits', 0.06137, 0.07795, ({ digits, chars }) => share(digits, chars)),
  feature('asks', 0.5378, 0.4986, ({ marks }) => flag(marks[MARK.ask]! > 0)),
  feature('lines', 1.316, 1.189, ({ lines }) => log(lines)),
  feature('operators', 0.7707, 1.237, ({ marks }) => log(marks[MARK.operator]! + marks[MARK.backslash]!)),
  feature('LaTeX', 0.194, 0.3954, ({ marks }) => flag(marks[MARK.latex]! + marks[MARK.backslash]! > 1)),
  feature('code', 0.1638, 0.3701, ({ kinds, marks }) => flag(kinds[KIND.code]! + marks[MARK.brace]! > 1)),
  feature('options', 1.249, 1.189, ({ options }) => log(options)),
  feature('negations', 0.1537, 0.401, ({ kinds }) => log(kinds[KIND.negation]!)),
  feature('conditionals', 0.2474, 0.4079, ({ kinds }) => log(kinds[KIND.conditional]!)),
  feature('capitals', 0.03613, 0.03202, ({ capitals, chars }) => share(capitals, chars)),
  feature('long words', 0.1199, 0.09278, ({ longWords, words }) => share(longWords, words)),
  feature('sentences', 1.811, 1.056, ({ sentences }) => log(sentences)),
  feature('numbers', 1.662, 1.629, ({ numbers }) => log(numbers)),
  feature('longest number', 1.637, 1.653, ({ longestNumber }) => Math.min(NUMBER_MAX, longestNumber)),
  feature('calculations', 0.3568, 0.4499, ({ kinds }) => log(kinds[KIND.calculation]!)),
  feature('which', 0.1668, 0.3728, ({ kinds }) => flag(kinds[KIND.which]! > 0)),
  feature('who or when', 0.2256, 0.418, ({ kinds }) => flag(kinds[KIND.person]! > 0)),
  feature('how or why', 0.194, 0.3954, ({ kinds }) => flag(kinds[KIND.explanation]! > 0)),
  feature('commas', 0.9839, 1.112, ({ marks }) => log(marks[MARK.comma]!)),
  feature('beyond ASCII', 0.001925, 0.007031, ({ foreign, chars }) => share(foreign, chars)),
];
export const DENSE = FORM_FEATURES.length;
export const FORM_FEATURE_NAMES: readonly string[] = FORM_FEATURES.map(({ name }) => name);
/** Index of the feature that holds the length of a question. */
export const LENGTH_INDEX = FORM_FEATURE_NAMES.indexOf('tokens');

/** Writes the form features of the last scanned text into `into`. */
export function writeFormFeatures(scanned: Scanner, into: Float64Array): void {
  for (let at = 0; at < DENSE; at++) into[at] = FORM_FEATURES[at]!.of(scanned);
}

/** The maximum distance from the mean, in standard deviations. */
export const DEVIATIONS_MAX = 3;

/** The distance of a feature from its mean in standard deviations, at most `DEVIATIONS_MAX` either way. */
export function standardize(figure: number, at: number): number {
  const { mean, deviation } = FORM_FEATURES[at]!;
  const off = (figure - mean) / deviation;
  return Math.max(-DEVIATIONS_MAX, Math.min(DEVIATIONS_MAX, off));
}
