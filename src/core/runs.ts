/** Shorter runs that two texts share are coincidence. */
export const RUN_MIN = 8;
/** A shared run of this length is no coincidence. A shorter one must look random: it may be a plain word that a secret contains. */
const RUN_SURE = 12;

/** Every piece of `RUN_MIN` characters that texts have, to look for what another text has in common with them. */
export type Pieces = ReadonlySet<string>;

/** Takes time and memory in proportion to the texts. */
export function piecesOf(texts: Iterable<string>): Pieces {
  const pieces = new Set<string>();
  for (const text of texts) {
    for (let at = 0; at + RUN_MIN <= text.length; at++) pieces.add(text.slice(at, at + RUN_MIN));
  }
  return pieces;
}

/** Those of a few pieces that stand in a text. */
function piecesIn(text: string, pieces: Pieces): Set<string> {
  const found = new Set<string>();
  for (let at = 0; at + RUN_MIN <= text.length; at++) {
    const piece = text.slice(at, at + RUN_MIN);
    if (pieces.has(piece)) found.add(piece);
  }
  return found;
}

/** A text in which every run that is made of the pieces, as long as it goes, is replaced. */
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

/** A text in which every run that it shares with one of the sources is replaced. */
export function withoutRunsOf(text: string, sources: readonly string[], replacement: string): string {
  const pieces = piecesOf([text]);
  return replaceRuns(text, new Set(sources.flatMap((source) => [...piecesIn(source, pieces)])), () => replacement);
}

/** Long, or of more than one kind of character: `upstream` may well be a word of both texts. */
function isTelling(run: string): boolean {
  if (run.length >= RUN_SURE) return true;
  return [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(run)).length > 1;
}
