/**
 * How many letters must be put in, taken out or exchanged to make one text of another. Takes time that grows with the length times
 * `most`, because only cells of the table that near its diagonal can count (Ukkonen, "Algorithms for approximate string matching", 1985).
 * @param most edits of interest
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

/** Returns the known name that is the fewest edits away from a name, capitals apart; null for none within `distanceMax`. */
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

/** Letters of a name from which on one edit is a misspelling: shorter names that differ by one are often other fields. */
const NAME_LENGTH_MIN = 6;

/** Returns the known name that a name is one edit away from, with two letters exchanged as one; null for a short name or none. */
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
