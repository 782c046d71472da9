/** Finds the end of a JSON object, list or string that arrives in pieces. `JsonEnd` stores no piece and reads each piece once. */
export class JsonEnd {
  /** Whether the end of the JSON value has been reached. */
  isReached = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  add(piece: string): void {
    for (let at = 0; at < piece.length && !this.isReached; at++) this.#read(piece.charCodeAt(at));
  }

  #read(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === 0x22 /* " */) {
      this.#isInString = !this.#isInString;
      this.isReached = !this.#isInString && this.#depth === 0;
    } else if (this.#isInString) this.#isEscaped = code === 0x5c; /* \ */
    else if (code === 0x7b || code === 0x5b /* { [ */) this.#depth++;
    else if (code === 0x7d || code === 0x5d /* } ] */) this.isReached = --this.#depth <= 0;
  }
}
