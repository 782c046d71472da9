/** Whether a condition of the policy holds; null for always. One that cannot be judged holds: it must not open a gate. */
export function holds<Scope>(condition: ((scope: Scope) => boolean) | null, scope: Scope): boolean {
  if (!condition) return true;
  try {
    return condition(scope);
  } catch {
    return true;
  }
}

/** The group of a budget or limit that a request counts in; '' for the common one, and where it cannot be evaluated. */
export function subjectIn<Scope>(each: ((scope: Scope) => string) | null, scope: Scope): string {
  if (!each) return '';
  try {
    return each(scope);
  } catch {
    return '';
  }
}
