/** A timer that is set. A timer of the process has these methods already, so that setting one makes no second object. */
export interface Timer {
  /** Lets the process end before it fires. */
  unref(): unknown;
  /** Stops it. Does nothing once it has fired or was stopped. */
  close(): unknown;
}

/**
 * The timers of a host. Work that decides something later, such as a poll, a renewal, a sweep or a retry, is set here, so that
 * a simulated host moves it with its clock.
 */
export interface Timers {
  /** Runs once, after `ms`. */
  after(ms: number, run: () => void): Timer;
  /** Runs every `ms`, first after `ms`. */
  every(ms: number, run: () => void): Timer;
}

/** As `work`, but resolves with `late` where that takes longer than `ms`. */
export async function within<T>(timers: Timers, ms: number, work: Promise<T>, late: T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const timer = timers.after(ms, () => resolve(late));
  try {
    return await Promise.race([work, promise]);
  } finally {
    timer.close();
  }
}

/** Resolves after `ms`. */
export const pause = (timers: Timers, ms: number): Promise<void> =>
  new Promise((resolve) => void timers.after(ms, resolve));
