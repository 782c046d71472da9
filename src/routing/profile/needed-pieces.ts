/**
 * Pieces of text for a part of an expression: every text that the part matches contains one of the pieces. `Pieces` is null if no piece is
 * certain.
 */
type Pieces = readonly string[] | null;

/** A piece with more letters than this is not noticeably rarer. */
const LENGTH_ENOUGH = 4;

/**
 * Returns pieces of text of which every match of an expression contains at least one piece; null if a match can lack all pieces.
 * `neededPieces` parses the syntax that the lexicon uses: alternatives, groups, lookarounds, classes, quantifiers and escapes.
 */
export function neededPieces({ source }: Pick<RegExp, 'source'>): Pieces {
  return new ExpressionReader(source).alternatives();
}

const ONCE = { isOptional: false, repeats: false };
/** The opening characters of lookarounds. */
const AROUND = ['(?=', '(?!', '(?<=', '(?<!'] as const;

/** Reads the source of an expression from left to right. */
class ExpressionReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Returns the pieces of all alternatives together, up to the end of their group. */
  alternatives(): Pieces {
    let all: readonly string[] | null = [];
    for (;;) {
      const one: Pieces = this.#sequence();
      all = all && one && [...all, ...one];
      if (this.#source[this.#at] !== '|') return all;
      this.#at++;
    }
  }

  /** Returns the best pieces of one alternative: its longest run of letters, or the pieces of a required group. */
  #sequence(): Pieces {
    let best: Pieces = null;
    let run = '';
    const endRun = () => {
      if (run) best = better(best, [run]);
      run = '';
    };
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at]!)) {
      if (this.#skipAssertion()) continue;
      const piece = this.#element();
      const { isOptional, repeats } = this.#quantifier();
      if (typeof piece === 'string') {
        if (!isOptional) run += piece;
        if (isOptional || repeats) endRun();
        continue;
      }
      endRun();
      if (!isOptional) best = better(best, piece);
    }
    endRun();
    return best;
  }

  /** Skips an anchor, a word boundary or a lookaround, because such an assertion consumes no text. */
  #skipAssertion(): boolean {
    const source = this.#source;
    if (source.startsWith('\\b', this.#at) || source.startsWith('\\B', this.#at)) this.#at += 2;
    else if (source[this.#at] === '^' || source[this.#at] === '$') this.#at++;
    else {
      const around = AROUND.find((one) => source.startsWith(one, this.#at));
      if (around === undefined) return false;
      this.#at += around.length;
      this.alternatives();
      this.#at++;
    }
    return true;
  }

  /** Reads a letter, a group, or a construct that matches several texts. `#element` returns the letter, or the pieces of the group. */
  #element(): string | Pieces {
    const source = this.#source;
    const letter = source[this.#at++]!;
    if (letter === '(') {
      if (source.startsWith('?:', this.#at)) this.#at += 2;
      const pieces = this.alternatives();
      this.#at++;
      return pieces;
    }
    if (letter === '.') return null;
    if (letter === '[') {
      while (source[this.#at] !== ']') this.#at += source[this.#at] === '\\' ? 2 : 1;
      this.#at++;
      return null;
    }
    if (letter !== '\\') return letter;
    const escaped = source[this.#at++]!;
    if (escaped === 'u') {
      // The source of an expression writes other alphabets as `\uXXXX`.
      this.#at += 4;
      return String.fromCharCode(Number.parseInt(source.slice(this.#at - 4, this.#at), 16));
    }
    if (escaped === 'p' || escaped === 'P') this.#at = source.indexOf('}', this.#at) + 1;
    // Escapes such as `\d` match many characters.
    return /[A-Za-z0-9]/.test(escaped) ? null : escaped;
  }

  /** Reads how often a part of an expression must match. */
  #quantifier() {
    const source = this.#source;
    const sign = source[this.#at] ?? '';
    if (!'?*+{'.includes(sign) || sign === '') return ONCE;
    const least = sign === '{' ? Number.parseInt(source.slice(this.#at + 1), 10) : sign === '+' ? 1 : 0;
    this.#at = sign === '{' ? source.indexOf('}', this.#at) + 1 : this.#at + 1;
    if (source[this.#at] === '?') this.#at++;
    return { isOptional: least === 0, repeats: true };
  }
}

/** Returns the more selective of two sets of pieces: the set whose shortest piece is longer, or otherwise the smaller set. */
function better(one: Pieces, other: Pieces): Pieces {
  if (one === null || other === null) return one ?? other;
  const by = shortest(one) - shortest(other);
  return by > 0 || (by === 0 && one.length <= other.length) ? one : other;
}

const shortest = (pieces: readonly string[]): number => Math.min(LENGTH_ENOUGH, ...pieces.map(({ length }) => length));
