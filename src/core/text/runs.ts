/** Minimum length of a run of characters shared by two texts. A shared run of fewer characters is coincidence. */
export const RUN_MIN = 8;
/**
 * A shared run of this length is never a coincidence. A shorter run counts only if it looks random, because it may be a plain word that a
 * secret contains.
 */
const RUN_SURE = 12;

/** Every piece of `RUN_MIN` characters in some texts, for finding what another text shares with them. */
export type Pieces = ReadonlySet<string>;

/** Returns the pieces of some texts. `piecesOf` takes time and memory proportional to the length of the texts. */
export function piecesOf(texts: Iterable<string>): Pieces {
  const pieces = new Set<string>();
  for (const text of texts) {
    for (let at = 0; at + RUN_MIN <= text.length; at++) pieces.add(text.slice(at, at + RUN_MIN));
  }
  return pieces;
}

/** Returns the pieces that occur in a text. */
function piecesIn(text: string, pieces: Pieces): Set<string> {
  const found = new Set<string>();
  for (let at = 0; at + RUN_MIN <= text.length; at++) {
    const piece = text.slice(at, at + RUN_MIN);
    if (pieces.has(piece)) found.add(piece);
  }
  return found;
}

/** Replaces every run in a text that consists of the pieces. Each replaced run is as long as possible. */
export function replaceRuns(text: string, pieces: Pieces, replacement: (run: string) => string): string {
  if (pieces.size === 0) return text;
  let out = '';
  let kept = 0;
  for (let at = 0; at + RUN_MIN <= text.length; ) {
    if (!pieces.has(text.slice(at, at + RUN_MIN))) {
      at++;
      continue;
    }
    let end = at + RUN_MIN;
    while (end < text.length && pieces.has(text.slice(end + 1 - RUN_MIN, end + 1))) end++;
    const run = text.slice(at, end);
    if (isTelling(run)) {
      out += text.slice(kept, at) + replacement(run);
      kept = end;
    }
    at = end;
  }
  return kept === 0 ? text : out + text.slice(kept);
}

/** Replaces every run in a text that it shares with one of the sources. */
export function withoutRunsOf(text: string, sources: readonly string[], replacement: string): string {
  const pieces = piecesOf([text]);
  return replaceRuns(text, new Set(sources.flatMap((source) => [...piecesIn(source, pieces)])), () => replacement);
}

/**
 * Whether a run is long, or has more than one kind of character. The word `upstream`, for example, may occur in both texts without being a
 * secret.
 */
function isTelling(run: string): boolean {
  if (run.length >= RUN_SURE) return true;
  return [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(run)).length > 1;
}
