/** A value, or a promise of the value if it takes a wait. */
export type Awaitable<T> = T | Promise<T>;

/** Passes a value on: at once, in the same turn of the event loop, if there is no wait for it. */
export const whenReady = <T, Result>(value: Awaitable<T>, go: (value: T) => Awaitable<Result>): Awaitable<Result> =>
  value instanceof Promise ? value.then(go) : go(value);

/** Replaces the failure of a promise. A value that needs no wait has not failed, so it is passed on at once. */
export const orElse = <T>(value: Awaitable<T>, mend: (cause: unknown) => Awaitable<T>): Awaitable<T> =>
  value instanceof Promise ? value.catch(mend) : value;

/** Does the same as `whenReady` with a function that is made only once, because it gets `one` and `other` before the value. */
export const whenReadyWith = <T, One, Other, Result>(
  value: Awaitable<T>,
  go: (one: One, other: Other, value: T) => Awaitable<Result>,
  one: One,
  other: Other,
): Awaitable<Result> => (value instanceof Promise ? laterWith(value, go, one, other) : go(one, other, value));

/** Apart from `whenReadyWith`, so that a value that needs no wait needs no function of its own. */
const laterWith = <T, One, Other, Result>(
  value: Promise<T>,
  go: (one: One, other: Other, value: T) => Awaitable<Result>,
  one: One,
  other: Other,
): Promise<Result> => value.then((ready) => go(one, other, ready));
