import file from './features.json' with { type: 'json' };
import { BEFORE, FIGURE, OPENING, sumOf, UNDER } from './figures.ts';
import type { FeatureFile } from './lexicon/data-shapes.ts';
import { SIGN, SIGNS, type Sign } from './lexicon/signs.ts';
import { TASKS } from './tasks.ts';

/** A condition that most questions do not meet. A feature that requires it is 0 without it. */
export type FeatureCondition = Sign | 'before' | 'tools' | 'system prompt' | 'system prompt itself';

/** Whether a figure is above `low`, and at most `high`. */
export interface FigureTest {
  /** Place among the figures. */
  readonly figure: number;
  readonly low: number;
  readonly high: number;
}

/** A figure of a question, up to `most`; 0 unless all of `tests` hold. */
export interface Feature {
  readonly name: string;
  /** Place among the figures. */
  readonly figure: number;
  readonly most: number;
  readonly requires: FeatureCondition | undefined;
  readonly tests: readonly FigureTest[];
}

type FeatureRow = FeatureFile['features'][number];

/** Signs with a weight of their own; the others tell only a language or a length. */
const WEIGHTED_SIGNS = SIGNS.slice(SIGNS.indexOf('words') + 1, SIGNS.indexOf('word_unit'));
const { lists, features }: FeatureFile = file;
const LISTS: FeatureFile['lists'] = { ...lists, weighted: WEIGHTED_SIGNS.join(' '), tasks: TASKS.join(' ') };
const CONTEXTS: ReadonlySet<string> = new Set(['before', 'tools', 'system prompt', 'system prompt itself']);

const ALWAYS: readonly FigureTest[] = [];

/** The features of a row of the file. */
function featuresOf({ name, each = '', figure, most, requires, when = [] }: FeatureRow): Feature[] {
  const names = each.split(' ').flatMap((one) => LISTS[one]?.split(' ') ?? one);
  const isShared = !when.some((test) => test.includes('*'));
  // Neighbours that share their tests are tested once.
  const shared = when.length === 0 ? ALWAYS : isShared ? when.map(testOf) : null;
  return names.map((one) => ({
    name: name.replace('*', one),
    figure: figure === undefined ? FIGURE.one : placeOf(figure.replace('*', one)),
    most: most ?? (figure === undefined ? 1 : Number.POSITIVE_INFINITY),
    requires: requires === undefined ? undefined : conditionNamed(requires.replace('*', one)),
    tests: shared ?? when.map((test) => testOf(test.replace('*', one))),
  }));
}

/** Reads a test such as `words <= 8`, `lead = translate` or `maths + solve > 0.4`. */
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
      // For whole figures.
      return { figure, low: bound - 0.5, high: bound };
  }
}

/** The next number below a positive one. */
function below(value: number): number {
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0]! -= 1n;
  return new Float64Array(bits.buffer)[0]!;
}

/** The place of a figure by its name in the file. */
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

/** All features by name; `weights.json` has a row for each that tells anything. */
export const FEATURES: readonly Feature[] = features.flatMap(featuresOf);
export const FEATURE_NAMES: readonly string[] = FEATURES.map(({ name }) => name);
