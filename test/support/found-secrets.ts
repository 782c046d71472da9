import { secrets } from '../../plugins/guards/secrets.ts';
import type { PreparedGuard } from '../../src/contract/guard.ts';
import { finished } from '../../src/contract/guard-steps.ts';
import { madeSecrets } from './made-secrets.ts';

/** Returns the places that a guard finds in a text. */
export function placesIn(
  guard: PreparedGuard,
  text: string,
): readonly { readonly from: number; readonly to: number }[] {
  const found = guard.check({ side: 'input', texts: [{ text, role: 'user', kind: 'text' }] });
  if (found instanceof Promise) throw new Error('the guard returned a promise');
  return finished(found).flatMap(({ at }) => at ?? []);
}

/** How many secrets of a group were made, how many a guard found completely, and texts with others. */
export interface FoundSecrets {
  made: number;
  found: number;
  readonly missed: string[];
}

/** Counts the made secrets that `secrets` finds, by group. @param each how many secrets of each group are made */
export function countFound(seed: number, each: number): ReadonlyMap<string, FoundSecrets> {
  const guard = secrets.prepare({ entropy: false });
  const groups = new Map<string, FoundSecrets>();
  for (const { group, text, from, to } of madeSecrets(seed, each)) {
    const counts = groups.getOrInsertComputed(group, (): FoundSecrets => ({ made: 0, found: 0, missed: [] }));
    counts.made++;
    if (placesIn(guard, text).some((place) => place.from <= from && place.to >= to)) counts.found++;
    else counts.missed.push(text);
  }
  return groups;
}
