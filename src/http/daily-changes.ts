import { durationText } from '../access/limits/refusal.ts';
import { SignalboxError } from '../core/errors.ts';
import { type Caller, isOperator } from '../core/people/caller.ts';
import { DAY_MS } from '../core/time/clock.ts';
import { isOnceForName, type RouteRule } from './kit/route-table.ts';

/** The maximum number of changes by one user within 24 hours after the first change. */
export const CHANGES_A_DAY = 1_000;
/** How many users are counted. With more users, the user whose day began first starts again at zero. */
const USERS_MAX = 10_000;

/** Actions that change nothing, that have a limit of their own, or that a user needs to stay secure. */
const UNCOUNTED: ReadonlySet<RouteRule['access']> = new Set([
  'policy.check',
  'policy.explain',
  'ledger.audit',
  'keys.delegate',
  'logins.end',
]);
const REVOKE = '/admin/keys/:id/revoke';

/**
 * Returns the user to whom a request counts, through a login, a token or a key. Returns null for operators, applications, and requests that
 * change nothing.
 */
export function changerOf(caller: Caller, { method, path, access }: RouteRule): string | null {
  if (caller.user === undefined || !isOnceForName(method, path)) return null;
  if (UNCOUNTED.has(access) || path === REVOKE) return null;
  const role = caller.levels?.find(({ kind }) => kind === 'user')?.role;
  return isOperator(caller) || role === 'owner' || role === 'admin' ? null : caller.user;
}

interface Day {
  /** When the day began, in ms on the clock. */
  readonly start: number;
  changes: number;
}

/** Limits the changes that one user makes in a day, because each of them stays in the audit trail. State: offences. */
export class DailyChanges {
  readonly #clock: () => number;
  /** Days by user. The day that began first comes first. */
  readonly #days = new Map<string, Day>();
  /** The day in which a request was counted. */
  readonly #counted = new WeakMap<Request, Day>();

  /** @param clock returns milliseconds that never decrease */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Counts a request.
   * @throws SignalboxError `rate_limit_exceeded`
   */
  take(request: Request, user: string): void {
    const day = this.#dayOf(user);
    if (day.changes >= CHANGES_A_DAY) {
      const retryAfterMs = Math.ceil(day.start + DAY_MS - this.#clock());
      const message = `A user can make at most ${CHANGES_A_DAY} changes in 24 hours, and you have made ${day.changes}. Try again in ${durationText(retryAfterMs)}, or ask an operator.`;
      throw new SignalboxError('rate_limit_exceeded', message, { retryAfterMs });
    }
    day.changes++;
    this.#counted.set(request, day);
  }

  /** Removes a request from the count, because it was refused and changed nothing. */
  giveBack(request: Request): void {
    const day = this.#counted.get(request);
    if (day) day.changes--;
    this.#counted.delete(request);
  }

  #dayOf(user: string): Day {
    const now = this.#clock();
    const known = this.#days.get(user);
    if (known && now - known.start < DAY_MS) return known;
    const day = { start: now, changes: 0 };
    this.#days.delete(user);
    this.#days.set(user, day);
    if (this.#days.size > USERS_MAX) this.#days.delete(this.#days.keys().next().value!);
    return day;
  }
}
