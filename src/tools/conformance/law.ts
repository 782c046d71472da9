import fc from 'fast-check';
import { messageOf } from '../../core/thrown.ts';

/** How many cases a run of the laws tries, and with which seed. */
export interface LawRunOptions {
  /** Equal seeds try equal cases. */
  readonly seed: number;
  /** With the same seed, a law tries the same cases. */
  readonly runs: number;
}

export interface LawReport {
  readonly law: string;
  /** The law in a sentence. */
  readonly says: string;
  /** `note`: an observation that is false but not a fault. `skipped`: the plugin offers no cases. */
  readonly outcome: 'holds' | 'broken' | 'note' | 'skipped';
  /** The fault in the smallest failing case; null if no case has a fault. */
  readonly fault: string | null;
  /** The smallest failing case in words. */
  readonly example: string | null;
}

/** A promise of a plugin, tested with random cases. */
export interface Law<Subject> {
  readonly name: string;
  try(subject: Subject, effort: LawRunOptions): LawReport;
}

export interface LawText<Subject, Case> {
  readonly name: string;
  readonly says: string;
  /** An observation rather than a promise. */
  readonly isNote?: true;
  /** Whether a single case is enough to test the law. */
  readonly isOnce?: true;
  /** Null if the subject has no cases for this law. */
  cases(subject: Subject): fc.Arbitrary<Case> | null;
  /** Returns the fault in a case; null if the law holds. An exception is a fault, too. */
  fault(subject: Subject, one: Case): string | null;
  /** The case in words, for reports. */
  describe(one: Case): string;
}

export function law<Subject, Case>(text: LawText<Subject, Case>): Law<Subject> {
  const { name, says, isNote, isOnce } = text;
  const none = { law: name, says, fault: null, example: null };
  return {
    name,
    try(subject, { seed, runs }) {
      const cases = text.cases(subject);
      if (!cases) return { ...none, outcome: 'skipped' };
      const faultIn = (one: Case) => faultOrThrow(() => text.fault(subject, one));
      let last: string | null = null;
      const property = fc.property(cases, (one) => {
        const fault = faultIn(one);
        last = fault ?? last;
        return fault === null;
      });
      const { failed, counterexample } = fc.check(property, { seed, numRuns: isOnce ? 1 : runs });
      if (!failed) return { ...none, outcome: 'holds' };
      const [smallest] = counterexample ?? [];
      // If a fault cannot be reproduced, the report has the fault that was seen last.
      const fault = (smallest === undefined ? null : faultIn(smallest)) ?? last ?? 'the law could not be tried';
      const example = smallest === undefined ? null : text.describe(smallest);
      return { law: name, says, outcome: isNote ? 'note' : 'broken', fault, example };
    },
  };
}

function faultOrThrow(run: () => string | null): string | null {
  try {
    return run();
  } catch (cause) {
    return `it throws ${quote(messageOf(cause))}`;
  }
}

/** The most characters of a quotation. */
const QUOTED_MAX = 300;

/** Writes a text as a JSON string of limited length. */
export function quote(text: string): string {
  const shown = JSON.stringify(text);
  return shown.length > QUOTED_MAX ? `${shown.slice(0, QUOTED_MAX)}…"` : shown;
}

/** Writes a value as JSON of limited length. */
export function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text;
}

/** Compares plain data and typed arrays deeply. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return left.length === right.size && left.every(([key, value]) => right.has(key) && isEqual(value, right.get(key)));
}
