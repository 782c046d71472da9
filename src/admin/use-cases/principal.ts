import { type Caller, OPERATOR } from '../../core/people/caller.ts';
import type { Actor } from '../../store/trail.ts';

/** Who runs a use case: `caller` decides what is allowed, and the audit trail names `actor`. */
export interface Principal {
  readonly caller: Caller;
  readonly actor: Actor;
}

/** The principal of a command. A person who can run commands on the server's data may do everything. */
export const operatorAs = (actor: Actor): Principal => ({ caller: OPERATOR, actor });
