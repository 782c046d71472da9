/** Header lines, each behind a CR LF: a token, a colon and text without a control character that could end it. */
const LINES = /^(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\0\r\n]*)*$/;

/** The most lines of a head that are made `Headers`. */
const FIELDS_MAX = 512;

/** The head of an answer. Its fields are kept as text: of many, few are read. Accepts the same lines as `Headers`. */
export class ReplyHead {
  status = 0;
  #text = '';
  /** The same in lower case; null until a field is read. */
  #lower: string | null = null;

  /** Adds lines, each behind a CR LF. Returns false, and adds none, where one is empty, folded or otherwise malformed. */
  add(lines: string): boolean {
    if (!LINES.test(lines)) return false;
    this.#text += lines;
    this.#lower = null;
    return true;
  }

  /** Returns the value of a header, several joined by commas; null for none. @param name in lower case */
  header(name: string): string | null {
    this.#lower ??= this.#text.toLowerCase();
    const lower = this.#lower;
    let value: string | null = null;
    for (let at = lower.indexOf(name); at >= 0; at = lower.indexOf(name, at + 1)) {
      const colon = at + name.length;
      if (lower[at - 1] !== '\n' || lower[colon] !== ':') continue;
      const end = lower.indexOf('\r', colon);
      const one = this.#text.slice(colon + 1, end < 0 ? undefined : end).trim();
      value = value === null ? one : `${value}, ${one}`;
    }
    return value;
  }

  /** Returns the first `FIELDS_MAX` lines: `Headers` look for each name among all before it. */
  headers(): Headers {
    const headers = new Headers();
    for (const line of this.#text.split('\r\n', FIELDS_MAX + 1).slice(1)) {
      const colon = line.indexOf(':');
      headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
    }
    return headers;
  }
}
