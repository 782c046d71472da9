/** The run of an agent that a request belongs to, by its caller's names; null for none. */
export interface RunNames {
  readonly session: string | null;
  /** A part of the session: the agent that a run has started beside its first one. */
  readonly agent: string | null;
  /** The agent that started it. */
  readonly parentAgent: string | null;
}

export const NO_RUN: RunNames = Object.freeze({ session: null, agent: null, parentAgent: null });
