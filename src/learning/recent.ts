/**
 * Adds an item to a set of the most recent `most`.
 * @returns whether it is new
 */
export function addIfNew<T>(recent: Set<T>, one: T, most: number): boolean {
  if (recent.has(one)) return false;
  recent.add(one);
  if (recent.size > most) for (const oldest of recent) return recent.delete(oldest);
  return true;
}
