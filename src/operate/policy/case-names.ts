import type { PolicyCase } from '../../core/policy-case.ts';
import { UsageError } from '../../core/usage-error.ts';
import { byNearness, listNames } from '../../policy/nearest.ts';

/** The most names listed where none or too many fit. */
const TOLD_MAX = 5;

/** The cases whose name has this text in it, whatever the case of its letters. Throws UsageError when there is none. */
export function casesNamed(text: string, cases: readonly PolicyCase[]): PolicyCase[] {
  const wanted = text.toLowerCase();
  const found = cases.filter(({ name }) => name.toLowerCase().includes(wanted));
  if (found.length > 0) return found;
  if (cases.length === 0) throw new UsageError('The policy has no cases.');
  const near = byNearness(
    text,
    cases.map(({ name }) => name),
  );
  throw new UsageError(`No case is named like "${text}"; near it are ${listNames(near.slice(0, TOLD_MAX))}.`);
}

/** The one case of this name, or with this text in its name. Throws UsageError. */
export function caseNamed(text: string, cases: readonly PolicyCase[]): PolicyCase {
  const found = casesNamed(text, cases);
  const exact = found.find(({ name }) => name === text);
  if (exact) return exact;
  if (found.length === 1) return found[0]!;
  const names = listNames(found.slice(0, TOLD_MAX).map(({ name }) => name));
  throw new UsageError(`"${text}" is in the names of ${found.length} cases; say more of one: ${names}.`);
}
