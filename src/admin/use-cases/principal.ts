import { type Caller, OPERATOR } from '../../core/caller.ts';
import type { Actor } from '../../store/trail.ts';

/** Who asks for a use case: what it may do, and as whom the trail names it. */
export interface Principal {
  readonly caller: Caller;
  readonly actor: Actor;
}

/** The principal of a command: who runs it on the server's data may do everything. */
export const operatorAs = (actor: Actor): Principal => ({ caller: OPERATOR, actor });
