import { isObject } from '../../core/object.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The result of a check of a value by a rule. Only `violates` counts against an answer, so it must be certain. */
export type RuleVerdict = 'conforms' | 'violates' | 'unsure';

/** Checks rules until one is violated. */
export function all<T>(rules: Iterable<T>, judge: (rule: T) => RuleVerdict): RuleVerdict {
  let verdict: RuleVerdict = 'conforms';
  for (const rule of rules) {
    const one = judge(rule);
    if (one === 'violates') return 'violates';
    if (one === 'unsure') verdict = 'unsure';
  }
  return verdict;
}

/** A check has taken all its steps. */
export class OutOfSteps extends Error {}

const CHARACTERS_PER_STEP = 32;

/** Bounds the work that a caller can cause. */
export class StepBudget {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** @throws OutOfSteps */
  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new OutOfSteps();
  }

  /**
   * Takes the steps of reading a text.
   * @throws OutOfSteps
   */
  takeFor({ length }: string): void {
    this.take(Math.ceil(length / CHARACTERS_PER_STEP));
  }
}

/** Values that nest deeper are not compared. */
const DEPTH_MAX = 64;

/**
 * Compares two JSON values. The order of members does not matter.
 * @throws OutOfSteps
 */
export function equal(a: unknown, b: unknown, steps: StepBudget, depth = 0): RuleVerdict {
  steps.take(1);
  if (typeof a === 'string') steps.takeFor(a);
  if (a === b) return 'conforms';
  if (depth > DEPTH_MAX) return 'unsure';
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return 'violates';
    return all(a.keys(), (i) => equal(a[i], b[i], steps, depth + 1));
  }
  if (!isObject(a) || !isObject(b)) return 'violates';
  const names = Object.keys(a);
  const others = Object.keys(b);
  steps.take(names.length + others.length);
  if (names.length !== others.length) return 'violates';
  return all(names, (name) => (Object.hasOwn(b, name) ? equal(a[name], b[name], steps, depth + 1) : 'violates'));
}
