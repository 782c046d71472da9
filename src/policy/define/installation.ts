import type { LedgerState } from '../../core/money/budget.ts';
import type { TeamNames } from '../../core/people/people.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';

/** Settings that a server reads when it starts and keeps until it ends. */
export type StartSettings = Pick<GatewayPolicy, 'socketBytesMax'>;

/** The stored state and the running server that a policy must fit, as far as they are known. */
export interface Installation {
  /** The current day, such as `2026-10-07`. The current day turns on warnings about old or unverified figures and misspelt languages. */
  readonly today?: string;
  /** The existing ledger. If `ledger` is given, the policy must be compatible with the ledger. */
  readonly ledger?: LedgerState;
  /**
   * The teams in the store. The policy can name these teams, and must not declare a team that the API manages. `teams` is null if the teams
   * in the store are not known.
   */
  readonly teams?: TeamNames | null;
  /** IDs of the teams with active keys. Without `teamsWithKeys`, Signalbox does not warn about teams that the policy no longer declares. */
  readonly teamsWithKeys?: ReadonlySet<string>;
  /** The settings that the running server keeps. If `started` is given, a policy with other values gets a warning. */
  readonly started?: StartSettings;
}
