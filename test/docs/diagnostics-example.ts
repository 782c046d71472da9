/** A policy of `test/policy/golden/` in which a code is reported, and how to mend it. */
export interface Example {
  readonly golden: string;
  /** The mend in a sentence or two, in Markdown. */
  readonly mend: string;
  /** A text of the policy and its correction; undefined where the mend is outside the policy. */
  readonly correction?: readonly [from: string, to: string];
}
