/** Whether one is not among the latest that were met, of which so many are remembered; it is from now on. */
export function isNew<T>(met: Set<T>, one: T, most: number): boolean {
  if (met.has(one)) return false;
  met.add(one);
  if (met.size > most) for (const oldest of met) return met.delete(oldest);
  return true;
}
