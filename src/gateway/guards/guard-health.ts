import type { GuardVerdict } from '../../core/decision/verdict.ts';
import type { FailingGuard } from '../../core/tables/alerts/guard-failing.ts';
import type { Family } from '../../host/telemetry/families.ts';
import type { Verdicts } from './verdicts.ts';

/** A guard fails if it has failed at this many requests in a row, so that a single failure of its service is no alarm. */
const FAILURES_MIN = 3;

/** A request that has ended, as far as its guards matter. */
interface GuardedRequest {
  readonly requestId: string;
  readonly work: { readonly guards: { readonly verdicts: Pick<Verdicts, 'all' | 'working'> } | null };
}

/** Knows which guards fail. A guard works again after the first request or answer that it inspects. State: guards. */
export class GuardHealth {
  readonly #failing = new Map<string, FailingGuard>();

  /** Counts a request that has ended. @param now ms since 1970 */
  count(request: GuardedRequest, now: number): void {
    const { guards } = request.work;
    if (guards === null) return;
    const { all, working } = guards.verdicts;
    if (this.#failing.size > 0) for (const name of working) this.#failing.delete(name);
    for (const verdict of all)
      if (verdict.failed && !working.has(verdict.guard)) this.#fail(verdict, request.requestId, now);
  }

  /** Returns what is known about a guard that fails; null for any other guard. */
  of(name: string): FailingGuard | null {
    const failing = this.#failing.get(name);
    return failing && failing.failures >= FAILURES_MIN ? failing : null;
  }

  /** Returns those of the guards that fail, by name. */
  among(guards: readonly { readonly name: string }[]): readonly (readonly [name: string, FailingGuard])[] {
    return guards.flatMap(({ name }) => {
      const failing = this.of(name);
      return failing ? [[name, failing] as const] : [];
    });
  }

  #fail({ guard, reason = '' }: GuardVerdict, requestId: string, now: number): void {
    const last = this.#failing.get(guard);
    // Both sides of a request can fail.
    const failures = (last?.failures ?? 0) + (last?.requestId === requestId ? 0 : 1);
    this.#failing.set(guard, { failures, since: last?.since ?? now, error: reason, requestId });
  }
}

/** Makes the metric of failing guards. @param names the guards of the active policy */
export const guardFamilies = (
  health: Pick<GuardHealth, 'of'>,
  guards: () => readonly { readonly name: string }[],
): readonly Family[] => [
  {
    name: 'signalbox_guard_failing',
    help: `1 while a guard of the policy has failed at every request, at least ${FAILURES_MIN} in a row; otherwise 0.`,
    type: 'gauge',
    labels: ['guard'],
    samples: () => guards().map(({ name }) => [{ guard: name }, health.of(name) === null ? 0 : 1] as const),
  },
];
