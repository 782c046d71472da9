/** A wall clock (ms since 1970) that never goes back, however the system's is set while it is used. */
export function steady(now: () => number): () => number {
  let latest = Number.NEGATIVE_INFINITY;
  return () => {
    latest = Math.max(latest, now());
    return latest;
  };
}
