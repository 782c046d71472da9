const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** The arguments of a call as they come: a JSON text in pieces, each of which is read once. */
export class CallArguments {
  #text = '';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #state: 'open' | 'whole' | 'broken' = 'open';

  /** Whether they are an object or a list of JSON with its end, and at most blanks behind it. */
  get isWhole(): boolean {
    return this.#state === 'whole';
  }

  add(piece: string): void {
    if (this.#state === 'whole' && piece.trim() !== '') this.#state = 'broken';
    if (this.#state !== 'open') return;
    this.#text += piece;
    if (!this.#closesWith(piece)) return;
    this.#state = isJson(this.#text) ? 'whole' : 'broken';
    this.#text = '';
  }

  /** Whether the outermost bracket closes within the next piece. */
  #closesWith(piece: string): boolean {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInString) {
        if (code === BACKSLASH) this.#isEscaped = true;
        else if (code === QUOTE) this.#isInString = false;
      } else if (code === QUOTE) this.#isInString = true;
      else if (OPENING.has(code)) this.#depth++;
      else if (CLOSING.has(code) && --this.#depth <= 0) return true;
    }
    return false;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
