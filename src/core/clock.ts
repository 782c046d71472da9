/** A wall clock (ms since 1970) that never goes back, however the system's is set while it is used. */
export function steady(now: () => number): () => number {
  let latest = Number.NEGATIVE_INFINITY;
  return () => {
    latest = Math.max(latest, now());
    return latest;
  };
}

/** A moment, in ms since 1970, as ISO 8601 in UTC. */
export const iso = (time: number): string => new Date(time).toISOString();
