import { durationText } from '../access/limits/refusal.ts';
import { type Caller, isOperator } from '../core/caller.ts';
import { DAY_MS } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import { isOnceForName, type RouteRule } from './route-table.ts';

/** Changes of one user within 24 hours from the first of them. */
export const CHANGES_A_DAY = 1_000;
/** Users whose changes are counted. Beyond them, the user whose day began first is counted from zero again. */
const USERS_MAX = 10_000;

/** Actions that change nothing, that have a limit of their own, or that a user must be able to take to stay safe. */
const UNCOUNTED: ReadonlySet<RouteRule['access']> = new Set([
  'policy.check',
  'policy.explain',
  'ledger.audit',
  'keys.delegate',
  'logins.end',
]);
const REVOKE = '/admin/keys/:id/revoke';

/** The user whose changes a request counts to: by a login, a token or a key. Null for operators, applications, and all that changes nothing. */
export function changerOf(caller: Caller, { method, path, access }: RouteRule): string | null {
  if (caller.user === undefined || !isOnceForName(method, path)) return null;
  if (UNCOUNTED.has(access) || path === REVOKE) return null;
  const role = caller.levels?.find(({ kind }) => kind === 'user')?.role;
  return isOperator(caller) || role === 'owner' || role === 'admin' ? null : caller.user;
}

interface Day {
  /** On the clock, ms. */
  readonly start: number;
  changes: number;
}

/** Bounds the changes that one user makes in a day: each stays in the trail. State: offences. */
export class DailyChanges {
  readonly #clock: () => number;
  /** By user, the day that began first at the front. */
  readonly #days = new Map<string, Day>();
  /** The day that a request was counted in. */
  readonly #counted = new WeakMap<Request, Day>();

  /** @param clock ms, never goes back */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Counts a request. @throws SignalboxError `rate_limit_exceeded` */
  take(request: Request, user: string): void {
    const day = this.#dayOf(user);
    if (day.changes >= CHANGES_A_DAY) {
      const retryAfterMs = Math.ceil(day.start + DAY_MS - this.#clock());
      const message = `A user makes at most ${CHANGES_A_DAY} changes in 24 hours, and you have made ${day.changes}; try again in ${durationText(retryAfterMs)}, or ask an operator.`;
      throw new SignalboxError('rate_limit_exceeded', message, { retryAfterMs });
    }
    day.changes++;
    this.#counted.set(request, day);
  }

  /** Takes a request out of the count: it was refused, and changed nothing. */
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
