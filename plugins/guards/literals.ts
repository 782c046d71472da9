import { patternFinder, type TextFinder, type TextSpan } from 'signalbox/plugin';

/** The next characters of texts with a common beginning. */
interface Branch {
  readonly next: Map<string, Branch>;
  /** Whether a text ends here. */
  isEnd: boolean;
}

const branch = (): Branch => ({ next: new Map(), isEnd: false });

/**
 * Makes a search for any of some texts. The texts are joined at their common beginnings, so each place of the searched text is compared with
 * at most one of them, and the search takes time in proportion to the searched text.
 * @param counts whether a place counts; default: every place
 */
export function literalFinder(
  texts: readonly string[],
  isCaseBlind: boolean,
  counts: (text: string, place: TextSpan) => boolean = () => true,
): TextFinder {
  const root = branch();
  for (const text of texts) {
    let at = root;
    for (const sign of isCaseBlind ? text.toLowerCase() : text) at = at.next.getOrInsertComputed(sign, branch);
    at.isEnd = true;
  }
  const pattern = new RegExp(sourceOf(root), isCaseBlind ? 'giu' : 'gu');
  return patternFinder(pattern, ({ index, 0: found }, text) => {
    const place = [index, index + found.length] as const;
    return counts(text, place) ? place : null;
  });
}

/** Writes what can follow. The longest text that matches counts. */
function sourceOf({ next, isEnd }: Branch): string {
  const ways = [...next].map(([sign, below]) => RegExp.escape(sign) + sourceOf(below));
  if (ways.length === 0) return '';
  return isEnd || ways.length > 1 ? `(?:${ways.join('|')})${isEnd ? '?' : ''}` : ways[0]!;
}
