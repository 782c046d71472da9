/** The caller's names for the agent run that a request belongs to; null for none. */
export interface RunNames {
  readonly session: string | null;
  /** The agent within the session. Agents that a run starts have names of their own. */
  readonly agent: string | null;
  /** The agent that started this agent. */
  readonly parentAgent: string | null;
}

export const NO_RUN: RunNames = Object.freeze({ session: null, agent: null, parentAgent: null });
