/** A running timer. The process's own timers have these methods, so setting a timer creates no second object. */
export interface Timer {
  /** Allows the process to exit before the timer fires. */
  unref(): unknown;
  /** Stops the timer. `close` does nothing if the timer has fired or was already stopped. */
  close(): unknown;
}

/**
 * The timers of a host. Work that decides something later, such as a poll, a renewal, a sweep or a retry, uses the timers of the host, so
 * that a simulated host moves it with its clock.
 */
export interface Timers {
  /** Calls `run` once, after `ms`. */
  after(ms: number, run: () => void): Timer;
  /** Calls `run` every `ms`, for the first time after `ms`. */
  every(ms: number, run: () => void): Timer;
}

/** Waits for `work`, but returns `late` if the work takes longer than `ms`. */
export async function within<T>(timers: Timers, ms: number, work: Promise<T>, late: T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const timer = timers.after(ms, () => resolve(late));
  try {
    return await Promise.race([work, promise]);
  } finally {
    timer.close();
  }
}

/** Resolves after `ms` milliseconds. */
export const pause = (timers: Timers, ms: number): Promise<void> =>
  new Promise((resolve) => void timers.after(ms, resolve));
