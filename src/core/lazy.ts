/** @returns a function that makes a constant on its first call, and returns the same constant on later calls */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
