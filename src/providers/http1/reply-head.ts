/** Matches header lines, each after a CR LF: a token, a colon, and text without a control character that could end the line. */
const LINES = /^(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\0\r\n]*)*$/;

/** The maximum number of header lines that are converted to `Headers`. */
const FIELDS_MAX = 512;

/**
 * The head of an answer. `ReplyHead` keeps its header lines as text, because Signalbox reads only a few of them. `ReplyHead` accepts the
 * same lines as `Headers`.
 */
export class ReplyHead {
  status = 0;
  #text = '';
  /** The fields in lower case; null until a field is read. */
  #lower: string | null = null;

  /** Adds lines, each after a CR LF. If a line is empty, folded or otherwise malformed, `add` adds no line and returns false. */
  add(lines: string): boolean {
    if (!LINES.test(lines)) return false;
    this.#text += lines;
    this.#lower = null;
    return true;
  }

  /** Returns the value of a header, with several values joined by commas; null for none. @param name in lower case */
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

  /**
   * Returns the first `FIELDS_MAX` lines as `Headers`. The limit bounds the time, because `Headers` compare each name with all names before
   * it.
   */
  headers(): Headers {
    const headers = new Headers();
    for (const line of this.#text.split('\r\n', FIELDS_MAX + 1).slice(1)) {
      const colon = line.indexOf(':');
      headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
    }
    return headers;
  }
}
