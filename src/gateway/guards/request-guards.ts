import type { RunningGuard } from './guard-runtime.ts';
import type { Placeholders } from './placeholders.ts';
import { Verdicts } from './verdicts.ts';

/** The guards that inspect one request and its answer, and what they found. */
export class RequestGuards {
  readonly verdicts = new Verdicts();
  readonly placeholders: Placeholders;
  /** The guards that inspect the answer. */
  readonly output: readonly RunningGuard[];
  /** The guards whose placeholders may become values again in the answer. */
  readonly unmasking: readonly RunningGuard[];

  constructor(active: readonly RunningGuard[], placeholders: Placeholders) {
    this.placeholders = placeholders;
    this.output = active.filter(({ rule }) => rule.on.includes('output'));
    this.unmasking = active.filter(({ rule }) => rule.unmask.length > 0);
  }
}

/** The parts of an HTTP request that conditions of guards see. */
export interface GuardedOrigin {
  readonly headers: Headers | null;
  readonly body: { readonly bytes: number };
}
