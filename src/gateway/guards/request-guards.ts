import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { GuardCall } from '../../core/decision/verdict.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { RunningGuard } from './guard-runtime.ts';
import type { Placeholders } from './placeholders.ts';
import { Verdicts } from './verdicts.ts';

/** The guards that inspect one request and its answer, and what they found. */
export class RequestGuards {
  readonly verdicts = new Verdicts();
  readonly placeholders: Placeholders;
  /** The calls of guards to models, for which the caller pays. */
  readonly calls: GuardCall[] = [];
  /** How many calls of guards to models are running. What they cost is not in `calls` yet. */
  running = 0;
  /** The names of the guards. */
  readonly names: readonly string[];
  /** The guards that inspect the answer. */
  readonly output: readonly RunningGuard[];
  /** Called once when the guards have read the answer, or when it has ended before; with the error with which they ended it, or null. */
  whenAnswerRead: ((error: SignalboxError | null) => void) | null = null;
  /** The guards whose placeholders may become values again in the answer. */
  readonly unmasking: readonly RunningGuard[];

  constructor(active: readonly RunningGuard[], placeholders: Placeholders) {
    this.placeholders = placeholders;
    this.names = active.map(({ rule }) => rule.name);
    this.output = active.filter(({ rule }) => rule.on.includes('output'));
    this.unmasking = active.filter(({ rule }) => rule.unmask.length > 0);
  }

  /** Notes that the guards have read the answer. Later calls do nothing. */
  answerRead(error: SignalboxError | null): void {
    this.whenAnswerRead?.(error);
    this.whenAnswerRead = null;
  }

  /** Whether the caller pays for calls of guards, or may have to. */
  get mayBeCharged(): boolean {
    return this.running > 0 || this.calls.some(({ charged }) => charged > 0);
  }

  /** The members of the request's record that are about guards. */
  get recorded(): Pick<DecisionOutcome, 'guards' | 'guardedBy' | 'guardCalls'> {
    const { all } = this.verdicts;
    return {
      ...(all.length > 0 && { guards: all }),
      guardedBy: this.names,
      ...(this.calls.length > 0 && { guardCalls: [...this.calls] }),
    };
  }
}

/** The parts of an HTTP request that conditions of guards see. */
export interface GuardedOrigin {
  readonly headers: Headers | null;
  readonly body: { readonly bytes: number };
}
