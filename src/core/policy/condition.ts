/**
 * Whether a condition of the policy is true; null means always. A condition that throws counts as true, so that an error never disables a
 * limit.
 */
export function holds<Scope>(condition: ((scope: Scope) => boolean) | null, scope: Scope): boolean {
  if (!condition) return true;
  try {
    return condition(scope);
  } catch {
    return true;
  }
}

/**
 * Returns the group of a budget or limit that a request counts in. The group is '' if all requests share one group, or if the expression
 * throws.
 */
export function subjectIn<Scope>(each: ((scope: Scope) => string) | null, scope: Scope): string {
  if (!each) return '';
  try {
    return each(scope);
  } catch {
    return '';
  }
}
