/** Notes of one translation: the dropped fields, and the first field that makes it impossible. */
export class Notes {
  readonly #dropped = new Set<string>();
  /** Why the request cannot be translated; empty while it can. */
  refusal = '';

  get dropped(): readonly string[] {
    return [...this.#dropped];
  }

  /** @param field a path in the request, such as `messages[2].name` */
  drop(field: string): void {
    this.#dropped.add(field);
  }

  refuse(field: string, why: string): void {
    this.refusal ||= `${field} ${why}`;
  }
}
