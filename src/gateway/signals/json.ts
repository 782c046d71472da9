import { isObject } from '../../core/object.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** What is known of a value and a rule. Only `violates` is ever held against anybody, so it is said only where it is sure. */
export type Verdict = 'conforms' | 'violates' | 'unsure';

/** What is said of all rules together, looked at until one is violated. */
export function all<T>(rules: Iterable<T>, judge: (rule: T) => Verdict): Verdict {
  let verdict: Verdict = 'conforms';
  for (const rule of rules) {
    const one = judge(rule);
    if (one === 'violates') return 'violates';
    if (one === 'unsure') verdict = 'unsure';
  }
  return verdict;
}

/** Thrown where a check has taken all its steps. */
export class OutOfSteps extends Error {}

const CHARACTERS_PER_STEP = 32;

/** A bound on work that a caller can bring about. */
export class Steps {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** Throws OutOfSteps. */
  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new OutOfSteps();
  }

  /** For a look at every character of a text. Throws OutOfSteps. */
  takeFor({ length }: string): void {
    this.take(Math.ceil(length / CHARACTERS_PER_STEP));
  }
}

/** Values that nest deeper are not compared. */
const DEPTH_MAX = 64;

/** Whether two values of JSON are equal; the order of members does not count. Throws OutOfSteps. */
export function equal(a: unknown, b: unknown, steps: Steps, depth = 0): Verdict {
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
