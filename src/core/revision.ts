/** A policy that was in force. */
export interface Revision {
  readonly revision: string;
  /** The policy's files as text. */
  readonly source: string;
  /** The models that it served, in the order of its records' qualities. */
  readonly models: readonly string[];
  /** Null if an earlier version saved it. */
  readonly surroundings: PolicyEnvironment | null;
  /** Milliseconds since 1970. */
  readonly saved: number;
}

/** The inputs of decisions besides the policy's text. Names and hashes only, no values. */
export interface PolicyEnvironment {
  /** Variables of providers that were not set. */
  readonly unset: readonly string[];
  /** The operator's own plugins, with a hash of their code. */
  readonly plugins: readonly (readonly [specifier: string, hash: string])[];
}
