/** A policy of `test/policy/golden/` that causes a diagnostic, and its fix. */
export interface Example {
  readonly golden: string;
  /** The fix as Markdown, in one or two sentences. */
  readonly mend: string;
  /** A text of the policy and its correction; undefined if the fix is outside the policy. */
  readonly correction?: readonly [from: string, to: string];
}
