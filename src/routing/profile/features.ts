import file from './features.json' with { type: 'json' };
import { BEFORE, FIGURE, OPENING, sumOf, UNDER } from './figures.ts';
import type { FeatureFile } from './lexicon/data-shapes.ts';
import { SIGN, SIGNS, type Sign } from './lexicon/signs.ts';
import { TASKS } from './tasks.ts';

/**
 * A condition that most questions do not satisfy. A feature that requires a condition is 0 if the question does not satisfy the condition.
 */
export type FeatureCondition = Sign | 'before' | 'tools' | 'system prompt' | 'system prompt itself';

/** Tests whether a figure is above `low` and at most `high`. */
export interface FigureTest {
  /** The index of the figure. */
  readonly figure: number;
  readonly low: number;
  readonly high: number;
}

/** A figure of a question, limited to `most`; 0 unless all of `tests` are true. */
export interface Feature {
  readonly name: string;
  /** The index of the figure. */
  readonly figure: number;
  readonly most: number;
  readonly requires: FeatureCondition | undefined;
  readonly tests: readonly FigureTest[];
}

type FeatureRow = FeatureFile['features'][number];

/** The signs that have weights of their own. All other signs only indicate a language or a length. */
const WEIGHTED_SIGNS = SIGNS.slice(SIGNS.indexOf('words') + 1, SIGNS.indexOf('word_unit'));
const { lists, features }: FeatureFile = file;
const LISTS: FeatureFile['lists'] = { ...lists, weighted: WEIGHTED_SIGNS.join(' '), tasks: TASKS.join(' ') };
const CONTEXTS: ReadonlySet<string> = new Set(['before', 'tools', 'system prompt', 'system prompt itself']);

const ALWAYS: readonly FigureTest[] = [];

/** Returns the features of a row of the file. */
function featuresOf({ name, each = '', figure, most, requires, when = [] }: FeatureRow): Feature[] {
  const names = each.split(' ').flatMap((one) => LISTS[one]?.split(' ') ?? one);
  const isShared = !when.some((test) => test.includes('*'));
  // Neighbouring features with the same tests share one list, so that the tests run once.
  const shared = when.length === 0 ? ALWAYS : isShared ? when.map(testOf) : null;
  return names.map((one) => ({
    name: name.replace('*', one),
    figure: figure === undefined ? FIGURE.one : placeOf(figure.replace('*', one)),
    most: most ?? (figure === undefined ? 1 : Number.POSITIVE_INFINITY),
    requires: requires === undefined ? undefined : conditionNamed(requires.replace('*', one)),
    tests: shared ?? when.map((test) => testOf(test.replace('*', one))),
  }));
}

/** Parses a test such as `words <= 8`, `lead = translate` or `maths + solve > 0.4`. */
function testOf(test: string): FigureTest {
  const [, name = '', sign, value = ''] = /^(.+) (>=|<=|>|<|=) (-?[\d.]+|\w+)$/.exec(test) ?? [];
  const figure = placeOf(name);
  const bound = isSign(value) ? SIGN[value] : Number(value);
  if (Number.isNaN(bound)) throw unreadable(test, `no number ${value}`);
  const [none, all] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  switch (sign) {
    case '>':
      return { figure, low: bound, high: all };
    case '>=':
      return { figure, low: below(bound), high: all };
    case '<=':
      return { figure, low: none, high: bound };
    case '<':
      return { figure, low: none, high: below(bound) };
    default:
      // Figures in an equality test are whole numbers, so the range around the bound contains only the bound.
      return { figure, low: bound - 0.5, high: bound };
  }
}

/** Returns the largest number below a positive number. */
function below(value: number): number {
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0]! -= 1n;
  return new Float64Array(bits.buffer)[0]!;
}

/** Returns the index of a figure by its name in the file. */
function placeOf(name: string): number {
  if (name.includes(' + ')) return sumOf(...name.split(' + ').map(signNamed));
  if (Object.hasOwn(FIGURE, name)) return FIGURE[name as keyof typeof FIGURE];
  if (isSign(name)) return SIGN[name];
  const [of, one = ''] = name.split(' ');
  if (of === 'opening') return OPENING + SIGN[signNamed(one)];
  const task = TASKS.indexOf(one);
  if (task < 0 || (of !== 'before' && of !== 'under')) throw unreadable(name, 'no such figure');
  return (of === 'before' ? BEFORE : UNDER) + task;
}

const isSign = (name: string): name is Sign => Object.hasOwn(SIGN, name);
const isCondition = (name: string): name is FeatureCondition => isSign(name) || CONTEXTS.has(name);

function signNamed(name: string): Sign {
  if (!isSign(name)) throw unreadable(name, 'no such sign');
  return name;
}

function conditionNamed(name: string): FeatureCondition {
  if (!isCondition(name)) throw unreadable(name, 'no such condition');
  return name;
}

const unreadable = (what: string, why: string): RangeError => new RangeError(`features.json: ${what}: ${why}`);

/** All features. `weights.json` has a row for each feature that carries information. */
export const FEATURES: readonly Feature[] = features.flatMap(featuresOf);
export const FEATURE_NAMES: readonly string[] = FEATURES.map(({ name }) => name);
