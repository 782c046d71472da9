/** @returns a function that makes a constant on its first call, and returns the same constant on later calls */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** @returns a function that makes a value from an object, and returns the same value while it is called with the same object */
export function perLatest<Of extends object, T>(make: (of: Of) => T): (of: Of) => T {
  let latest: { readonly of: Of; readonly value: T } | null = null;
  return (of) => {
    if (latest === null || latest.of !== of) latest = { of, value: make(of) };
    return latest.value;
  };
}
