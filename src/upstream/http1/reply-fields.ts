/** A header line: a token, a colon and text without a control character that could end it. */
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\0\r\n]*)$/;

/** The header fields of an answer. Accepts the same lines as `Headers`, whose own work is done only where all are wanted. */
export class ReplyFields {
  readonly #values = new Map<string, string>();

  /** Adds a line. Returns false for one that is empty, folded or otherwise malformed. */
  add(line: string): boolean {
    const found = FIELD.exec(line);
    if (!found) return false;
    const name = found[1]!.toLowerCase();
    const value = found[2]!.trim();
    const before = this.#values.get(name);
    this.#values.set(name, before === undefined ? value : `${before}, ${value}`);
    return true;
  }

  /** Returns the value of a header, several joined by commas; null for none. @param name in lower case */
  get(name: string): string | null {
    return this.#values.get(name) ?? null;
  }

  all(): Headers {
    return new Headers([...this.#values]);
  }
}
