import fc from 'fast-check';

/** How much is tried. */
export interface Effort {
  /** The same seed tries the same cases. */
  readonly seed: number;
  /** Cases of each law at most. */
  readonly runs: number;
}

export interface LawReport {
  readonly law: string;
  /** What is promised. */
  readonly says: string;
  /** `note`: does not hold, and nobody relies on it. `skipped`: there was nothing to try it on. */
  readonly outcome: 'holds' | 'broken' | 'note' | 'skipped';
  /** What went wrong in the smallest case that was found; null where nothing did. */
  readonly fault: string | null;
  /** That case, in words. */
  readonly example: string | null;
}

/** One promise of a plugin, which anybody can try. */
export interface Law<Subject> {
  readonly name: string;
  try(subject: Subject, effort: Effort): LawReport;
}

interface LawText<Subject, Case> {
  readonly name: string;
  readonly says: string;
  /** True for what is good to know and not promised. */
  readonly isNote?: true;
  /** True where there is but one case. */
  readonly isOnce?: true;
  /** Null where the subject gives nothing to try. */
  cases(subject: Subject): fc.Arbitrary<Case> | null;
  /** What is wrong in a case; null if the promise holds. A throw is a fault, too. */
  fault(subject: Subject, one: Case): string | null;
  /** A case in words. */
  tell(one: Case): string;
}

export function law<Subject, Case>(text: LawText<Subject, Case>): Law<Subject> {
  const { name, says, isNote, isOnce } = text;
  const none = { law: name, says, fault: null, example: null };
  return {
    name,
    try(subject, { seed, runs }) {
      const cases = text.cases(subject);
      if (!cases) return { ...none, outcome: 'skipped' };
      const faultIn = (one: Case) => caught(() => text.fault(subject, one));
      let last: string | null = null;
      const property = fc.property(cases, (one) => {
        const fault = faultIn(one);
        last = fault ?? last;
        return fault === null;
      });
      const { failed, counterexample } = fc.check(property, { seed, numRuns: isOnce ? 1 : runs });
      if (!failed) return { ...none, outcome: 'holds' };
      const [smallest] = counterexample ?? [];
      // What is not the same twice is told as it was seen last.
      const fault = (smallest === undefined ? null : faultIn(smallest)) ?? last ?? 'it could not be tried';
      const example = smallest === undefined ? null : text.tell(smallest);
      return { law: name, says, outcome: isNote ? 'note' : 'broken', fault, example };
    },
  };
}

function caught(run: () => string | null): string | null {
  try {
    return run();
  } catch (cause) {
    return `it throws ${quoted(messageOf(cause))}`;
  }
}

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Characters of a text in a message at most. */
const QUOTED_MAX = 300;

/** A text in quotes, on one line and not too long. */
export function quoted(text: string): string {
  const shown = JSON.stringify(text);
  return shown.length > QUOTED_MAX ? `${shown.slice(0, QUOTED_MAX)}…"` : shown;
}

/** A value as JSON, not too long. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text;
}

/** Freezes a value of plain data, and all within. Typed arrays cannot be frozen. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}

/** Whether two values of plain data are the same, typed arrays among them. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return left.length === right.size && left.every(([key, value]) => right.has(key) && same(value, right.get(key)));
}
