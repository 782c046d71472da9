/** Notes of one translation: what it leaves out, and the first thing that cannot be said at all. */
export class Notes {
  readonly #dropped = new Set<string>();
  /** Empty while everything can be said. */
  refused = '';

  get dropped(): readonly string[] {
    return [...this.#dropped];
  }

  /** `field` is its path in the request, such as `messages[2].name`. */
  drop(field: string): void {
    this.#dropped.add(field);
  }

  refuse(field: string, why: string): void {
    this.refused ||= `${field} ${why}`;
  }
}
