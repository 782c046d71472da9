import type { Scanner } from './text.ts';
import { KIND } from './vocabulary.ts';

/**
 * The 23 figures of a text's form, with their mean and standard deviation over 7,682 questions of two public benchmarks
 * (MMLU-Pro and the mixed questions of LLMRouter), as `bench/fit-learned.ts` prints them. They only set the scale:
 * a figure that is three deviations off counts as three.
 */
const FIGURES: readonly (readonly [name: string, mean: number, deviation: number])[] = [
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

export const DENSE = FIGURES.length;
export const FIGURE_NAMES: readonly string[] = FIGURES.map(([name]) => name);
/** Index of the figure that is the length of a question. */
export const LENGTH = FIGURE_NAMES.indexOf('tokens');

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
const log = (count: number): number => Math.log(1 + count);
const flag = (is: boolean): number => (is ? 1 : 0);
const NUMBER_MAX = 8;

/** The figure `LENGTH` of a text of so many tokens. */
export const lengthOf = (tokens: number): number => log(tokens);

/** Writes the figures of what was scanned last into `into`. */
export function writeFigures(scanned: Scanner, into: Float64Array): void {
  const { chars, words, kinds } = scanned;
  const count = (kind: number): number => kinds[kind]!;
  into[0] = log(chars);
  into[1] = lengthOf(scanned.tokens);
  into[2] = share(scanned.letters, words);
  into[3] = share(scanned.digits, chars);
  into[4] = flag(scanned.asks > 0);
  into[5] = log(scanned.lines);
  into[6] = log(scanned.operators);
  into[7] = flag(scanned.latex > 1);
  into[8] = flag(count(KIND.code) + scanned.braces > 1);
  into[9] = log(scanned.options);
  into[10] = log(count(KIND.negation));
  into[11] = log(count(KIND.conditional));
  into[12] = share(scanned.capitals, chars);
  into[13] = share(scanned.longWords, words);
  into[14] = log(scanned.sentences);
  into[15] = log(scanned.numbers);
  into[16] = Math.min(NUMBER_MAX, scanned.longestNumber);
  into[17] = log(count(KIND.calculation));
  into[18] = flag(count(KIND.which) > 0);
  into[19] = flag(count(KIND.person) > 0);
  into[20] = flag(count(KIND.explanation) > 0);
  into[21] = log(scanned.commas);
  into[22] = share(scanned.foreign, chars);
}

/** How many standard deviations a figure may be off. */
export const DEVIATIONS_MAX = 3;

const MEANS = Float64Array.from(FIGURES, ([, mean]) => mean);
const DEVIATIONS = Float64Array.from(FIGURES, ([, , deviation]) => deviation);

/** How many standard deviations a figure is above its mean, at most 3 either way. */
export function standard(figure: number, at: number): number {
  const off = (figure - MEANS[at]!) / DEVIATIONS[at]!;
  return Math.max(-DEVIATIONS_MAX, Math.min(DEVIATIONS_MAX, off));
}
