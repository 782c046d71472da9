/** The known name most like a given one; null when none is close. */
export function nearest(name: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance && distance < candidate.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best ?? onlyLonger(name, known);
}

/** The one known name that the given one is the beginning or the end of. */
function onlyLonger(name: string, known: Iterable<string>): string | null {
  if (name.length < 3) return null;
  const longer = [...known].filter((candidate) => candidate.startsWith(name) || candidate.endsWith(name));
  return longer.length === 1 ? (longer[0] ?? null) : null;
}

/** "did you mean" for a name, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): { hint?: string } {
  const meant = nearest(name, known);
  return meant === null ? {} : { hint: `did you mean \`${meant}\`?` };
}

/** Names in a row for a person, at most 20 of them. */
export function listNames(names: Iterable<string>): string {
  const all = [...names];
  const shown = all.slice(0, 20).map((name) => `\`${name}\``);
  return shown.join(', ') + (all.length > 20 ? ` and ${all.length - 20} more` : '') || 'none';
}

function editDistance(a: string, b: string): number {
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
