/** How many letters must be put in, taken out or exchanged to make one text of another. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
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
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
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
    if (editDistance(name, candidate) === 1 || isSwapped(name, candidate)) return candidate;
  }
  return null;
}

function isSwapped(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = [...a].findIndex((letter, i) => letter !== b[i]);
  return at >= 0 && a.slice(0, at) + a[at + 1] + a[at] + a.slice(at + 2) === b;
}
