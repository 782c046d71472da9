import { painter } from '../../core/paint.ts';
import { visibleLines } from '../../core/visible.ts';

/** Lines that stand for others, from a line on. */
interface Hunk {
  /** Line numbers in the text before and after, from 1. */
  readonly from: readonly [number, number];
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Lines to look ahead for the next line that both texts have. */
const AHEAD_MAX = 64;
/** Bounds of the shown part: a person needs an impression, and has the command. */
const HUNKS_MAX = 6;
const LINES_MAX = 8;

/** Shows in short how formatting would change a text. Neither text may hold a secret. */
export function diffText(before: string, after: string, colour: boolean): string {
  const hunks = hunksOf(linesOf(before), linesOf(after));
  if (hunks.length === 0) return '  only line endings: each line, the last one too, must end with a line feed';
  const paint = painter(colour);
  const lines = hunks
    .slice(0, HUNKS_MAX)
    .flatMap(({ from, removed, added }) => [
      paint.label(`  @@ -${from[0]} +${from[1]} @@`),
      ...shownOf(removed).map((line) => paint.error(`  -${line}`)),
      ...shownOf(added).map((line) => `  +${line}`),
    ]);
  const more = hunks.length - HUNKS_MAX;
  if (more > 0) lines.push(`  … and at ${more} more ${more === 1 ? 'place' : 'places'}`);
  return lines.join('\n');
}

/** Without the empty text behind the last line's end. */
const linesOf = (text: string): string[] =>
  text
    .replace(/^\uFEFF/, '')
    .replace(/(?:\r\n?|\n)$/, '')
    .split(/\r\n?|\n/);

function shownOf(lines: readonly string[]): string[] {
  const first = lines.slice(0, LINES_MAX).map(shown);
  const more = lines.length - first.length;
  return more > 0 ? [...first, `… and ${more} more ${more === 1 ? 'line' : 'lines'}`] : first;
}

/** Blanks at the end can be seen, and nothing commands the terminal. */
const shown = (line: string): string => visibleLines(line.replace(/[ \t]+$/, (blanks) => '·'.repeat(blanks.length)));

/** Not the fewest lines possible, but in a time that grows as the texts do. */
function hunksOf(before: readonly string[], after: readonly string[]): Hunk[] {
  const hunks: Hunk[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && before[i] === after[j]) {
      i++;
      j++;
      continue;
    }
    const [removed, added] = nextSame(before, after, i, j) ?? [before.length - i, after.length - j];
    const from = [i + 1, j + 1] as const;
    hunks.push({ from, removed: before.slice(i, i + removed), added: after.slice(j, j + added) });
    i += removed;
    j += added;
  }
  return hunks;
}

/** Counts the lines of each text before the next line that both have; null where it is not near. */
function nextSame(
  before: readonly string[],
  after: readonly string[],
  i: number,
  j: number,
): readonly [number, number] | null {
  for (let both = 1; both <= AHEAD_MAX; both++) {
    for (let removed = 0; removed <= both; removed++) {
      const [a, b] = [i + removed, j + both - removed];
      // A line alone may be like many; two in a row say where one is.
      if (a < before.length && before[a] === after[b] && before[a + 1] === after[b + 1])
        return [removed, both - removed];
    }
  }
  return null;
}
