/** A value, or a promise of the value if it takes a wait. */
export type Awaitable<T> = T | Promise<T>;

/** Passes a value on: at once, in the same turn of the event loop, if there is no wait for it. */
export const whenReady = <T, Result>(value: Awaitable<T>, go: (value: T) => Awaitable<Result>): Awaitable<Result> =>
  value instanceof Promise ? value.then(go) : go(value);

/** Replaces the failure of a promise. A value that needs no wait has not failed, so it is passed on at once. */
export const orElse = <T>(value: Awaitable<T>, mend: (cause: unknown) => Awaitable<T>): Awaitable<T> =>
  value instanceof Promise ? value.catch(mend) : value;
