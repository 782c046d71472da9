import type { Caller } from '../core/caller.ts';
import type { Actor } from '../store/trail.ts';

/** Who asks for a use case: what it may do, and as whom the trail names it. */
export interface Principal {
  readonly caller: Caller;
  readonly actor: Actor;
}
