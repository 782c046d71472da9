/**
 * Returns how many letters must be inserted, deleted or replaced to turn one text into another. The time is proportional to the length
 * times `most`, because only cells near the diagonal of the table matter (Ukkonen, "Algorithms for approximate string matching", 1985).
 * @param most the number of edits above which the exact result does not matter
 * @returns the number of edits, or `most + 1` for more
 */
export function editDistance(a: string, b: string, most: number): number {
  const far = most + 1;
  if (Math.abs(a.length - b.length) > most) return far;
  let row = Array.from({ length: b.length + 1 }, (_, j) => Math.min(j, far));
  for (let i = 1; i <= a.length; i++) {
    const next = new Array<number>(b.length + 1).fill(far);
    if (i <= most) next[0] = i;
    const last = Math.min(b.length, i + most);
    let least = next[0]!;
    for (let j = Math.max(1, i - most); j <= last; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const edits = Math.min(swap, row[j]! + 1, next[j - 1]! + 1, far);
      next[j] = edits;
      if (edits < least) least = edits;
    }
    if (least === far) return far;
    row = next;
  }
  return row[b.length]!;
}

/** Returns the known name that is the fewest edits away, ignoring case; null if none is within `distanceMax`. */
export function closest(name: string, known: Iterable<string>, distanceMax: number): string | null {
  let best: string | null = null;
  let bestDistance = distanceMax + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), bestDistance - 1);
    if (distance >= bestDistance || distance >= candidate.length) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/**
 * The shortest name in which one edit counts as a misspelling. Shorter field names that differ by one letter are often different fields.
 */
const NAME_LENGTH_MIN = 6;

/** Returns the known name that is one edit away, or two swapped letters away; null for a short name, or if no known name is that close. */
export function misspelt(name: string, known: Iterable<string>): string | null {
  if (name.length < NAME_LENGTH_MIN) return null;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > 1) continue;
    if (editDistance(name, candidate, 1) === 1 || isSwapped(name, candidate)) return candidate;
  }
  return null;
}

function isSwapped(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, i) => letter !== b[i]);
  return at >= 0 && a.slice(0, at) + a[at + 1] + a[at] + a.slice(at + 2) === b;
}
