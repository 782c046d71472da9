/** The ranks of a vocabulary's tokens. The characters of a key are the bytes of the token. */
export type Ranks = ReadonlyMap<string, number>;

export interface TokenVocabulary {
  readonly ranks: Ranks;
  /** Matches the pieces of a text that no token crosses. The expression must have the flag `g`. */
  readonly pieces: RegExp;
}

/** Reads tiktoken's format, which has a token in base64 and its rank on each line. */
export function readRanks(text: string): Ranks {
  const ranks = new Map<string, number>();
  for (const line of text.split('\n')) {
    const blank = line.indexOf(' ');
    if (blank > 0) ranks.set(atob(line.slice(0, blank)), Number(line.slice(blank + 1)));
  }
  return ranks;
}

/**
 * A piece with more bytes than this is merged in parts, because the time grows with the square of the length. A word in a text is shorter
 * than this limit.
 */
const PIECE_MAX = 512;
/** The maximum number of tokens that joining two texts may add: twice the highest number ever found. */
const SEAM = 8;

/**
 * Counts a text's tokens plus SEAM, which is an upper bound wherever the text is used. Special tokens count as plain text. The generator
 * yields after every piece, so that other counts can run.
 */
export function* countTokens(text: string, { ranks, pieces }: TokenVocabulary): Generator<void, number> {
  let tokens = SEAM;
  for (const [piece] of text.matchAll(pieces)) {
    const bytes = Buffer.from(piece).toString('latin1');
    if (ranks.has(bytes)) tokens++;
    else {
      for (let at = 0; at < bytes.length; at += PIECE_MAX) {
        if (at > 0) tokens += SEAM;
        tokens += countMerged(bytes.slice(at, at + PIECE_MAX), ranks);
        yield;
      }
    }
    yield;
  }
  return tokens;
}

/** Counts the tokens that remain after merging the neighbours with the lowest rank until no more can be merged. */
function countMerged(bytes: string, ranks: Ranks): number {
  const starts = Array.from({ length: bytes.length + 1 }, (_, at) => at);
  const rankOf = (pair: number): number => {
    const end = starts[pair + 2];
    return end === undefined
      ? Number.POSITIVE_INFINITY
      : (ranks.get(bytes.slice(starts[pair], end)) ?? Number.POSITIVE_INFINITY);
  };
  const pairs = starts.map((_, pair) => rankOf(pair));
  for (;;) {
    let least = 0;
    for (let i = 1; i < pairs.length; i++) if (pairs[i]! < pairs[least]!) least = i;
    if (pairs[least] === Number.POSITIVE_INFINITY) return starts.length - 1;
    starts.splice(least + 1, 1);
    pairs.splice(least + 1, 1);
    pairs[least] = rankOf(least);
    if (least > 0) pairs[least - 1] = rankOf(least - 1);
  }
}
