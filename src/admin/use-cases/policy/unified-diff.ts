import type { FileEdit } from '../../../policy/runtime/write-edit.ts';

/** Lines of the old file, and the lines of the new file that replace them. The ends are exclusive. */
interface Replacement {
  a: number;
  readonly aEnd: number;
  b: number;
  readonly bEnd: number;
}

/** How many unchanged lines are shown around a change. */
const CONTEXT = 3;
/** The most comparisons of lines when searching for the fewest changed lines, for all files of a difference together. */
const COMPARISONS_MAX = 200_000;
/** How many lines are read or written between two yields. */
const LINES_AT_ONCE = 4_096;

/** How many comparisons are left for the remaining files. */
interface Comparisons {
  left: number;
}

/**
 * Writes the difference of files in the format of `git apply`, to be run in the folder of the files. The text is empty if nothing differs.
 * Yields after a bounded number of steps. When the comparisons are used up, the difference of a file replaces all lines from the first to
 * the last changed line.
 * @param shown changes the text of each file's difference, for example to mask secrets
 */
export function* unifiedDiff(
  changes: readonly FileEdit[],
  shown: (text: string) => string = (text) => text,
): Generator<undefined, string> {
  const comparisons = { left: COMPARISONS_MAX };
  const texts: string[] = [];
  for (const change of changes) {
    texts.push(shown(yield* fileDiff(change, comparisons)));
    yield;
  }
  return texts.join('');
}

function* fileDiff({ name, before, after }: FileEdit, comparisons: Comparisons): Generator<undefined, string> {
  if (before === after) return '';
  const [a, b] = [quoted(`a/${name}`), quoted(`b/${name}`)];
  const head = [`diff --git ${a} ${b}`];
  if (before === null) head.push('new file mode 100644');
  if (after === null) head.push('deleted file mode 100644');
  const [from, to] = [yield* linesOf(before ?? ''), yield* linesOf(after ?? '')];
  const hunks = yield* hunksOf(yield* replacementsIn(from, to, comparisons), from, to);
  if (hunks !== '') head.push(`--- ${before === null ? '/dev/null' : a}`, `+++ ${after === null ? '/dev/null' : b}`);
  // Without this line, git does not accept a file of 0 bytes.
  else head.push(before === null ? `index ${NOTHING}..${EMPTY}` : `index ${EMPTY}..${NOTHING}`);
  return `${head.join('\n')}\n${hunks}`;
}

const NOTHING = '0000000';
/** Git's hash of an empty file. */
const EMPTY = 'e69de29';

/** Quotes a name as git does, if quotes are needed. */
function quoted(name: string): string {
  if (/^[\w./-]+$/.test(name)) return name;
  const bytes = [...Buffer.from(name)].map((byte) =>
    byte > 31 && byte < 127 && byte !== 34 && byte !== 92
      ? String.fromCharCode(byte)
      : `\\${byte.toString(8).padStart(3, '0')}`,
  );
  return `"${bytes.join('')}"`;
}

/** Splits a text into lines with their line ends. The last line may have no line end. */
function* linesOf(text: string): Generator<undefined, string[]> {
  const lines: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at) + 1 || text.length;
    lines.push(text.slice(at, end));
    if (lines.length % LINES_AT_ONCE === 0) yield;
    at = end;
  }
  return lines;
}

/** Finds the lines that differ, in order. */
function* replacementsIn(
  a: readonly string[],
  b: readonly string[],
  comparisons: Comparisons,
): Generator<undefined, readonly Replacement[]> {
  const most = Math.min(a.length, b.length);
  let start = 0;
  while (start < most && a[start] === b[start]) start++;
  let end = 0;
  while (end < most - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const whole = { a: start, aEnd: a.length - end, b: start, bEnd: b.length - end };
  const isPlain = whole.a === whole.aEnd || whole.b === whole.bEnd;
  return (isPlain ? null : yield* fewestLines(a, b, whole, comparisons)) ?? [whole];
}

/** Finds the fewest changed lines with Myers' greedy algorithm; null when the comparisons are used up. */
function* fewestLines(
  a: readonly string[],
  b: readonly string[],
  whole: Replacement,
  comparisons: Comparisons,
): Generator<undefined, readonly Replacement[] | null> {
  const [lengthA, lengthB] = [whole.aEnd - whole.a, whole.bEnd - whole.b];
  /** For each number of steps, the state before these steps: how far each diagonal was followed in `a`. */
  const trail: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let steps = 0; ; steps++) {
    trail.push(reached);
    const next = new Map<number, number>();
    for (let k = -steps; k <= steps; k += 2) {
      let x = cameDown(reached, k, steps) ? (reached.get(k + 1) ?? 0) : (reached.get(k - 1) ?? 0) + 1;
      const isSame = () => x < lengthA && x - k < lengthB && a[whole.a + x] === b[whole.b + x - k];
      while (comparisons.left-- > 0 && isSame()) x++;
      if (comparisons.left < 0) return null;
      next.set(k, x);
      if (x >= lengthA && x - k >= lengthB) return walkBack(whole, trail);
    }
    reached = next;
    yield;
  }
}

/** Whether the path reached the diagonal with a line of `b` instead of a line of `a`. */
const cameDown = (reached: ReadonlyMap<number, number>, k: number, steps: number): boolean =>
  k === -steps || (k !== steps && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));

/** Returns the replacements of a path that was found, walking back from its end. */
function walkBack(whole: Replacement, trail: readonly ReadonlyMap<number, number>[]): readonly Replacement[] {
  const found: Replacement[] = [];
  let k = whole.aEnd - whole.a - (whole.bEnd - whole.b);
  for (let steps = trail.length - 1; steps > 0; steps--) {
    const isDown = cameDown(trail[steps]!, k, steps);
    k += isDown ? 1 : -1;
    const x = trail[steps]!.get(k) ?? 0;
    const [a, b] = [whole.a + x, whole.b + x - k];
    const [aEnd, bEnd] = isDown ? [a, b + 1] : [a + 1, b];
    const after = found[0];
    if (after?.a === aEnd && after.b === bEnd) Object.assign(after, { a, b });
    else found.unshift({ a, aEnd, b, bEnd });
  }
  return found;
}

/** Adds the surrounding lines to replacements. Replacements that are close together share a hunk. */
function* hunksOf(
  replacements: readonly Replacement[],
  a: readonly string[],
  b: readonly string[],
): Generator<undefined, string> {
  const hunks: [Replacement, ...Replacement[]][] = [];
  for (const one of replacements.filter(({ a, aEnd, b, bEnd }) => a < aEnd || b < bEnd)) {
    const open = hunks.at(-1);
    if (open && one.a - open.at(-1)!.aEnd <= 2 * CONTEXT) open.push(one);
    else hunks.push([one]);
  }
  const texts: string[] = [];
  function* write(sign: ' ' | '-' | '+', lines: readonly string[], from: number, to: number) {
    for (let at = from; at < to; at++) {
      texts.push(lineText(sign, lines[at]!));
      if (texts.length % LINES_AT_ONCE === 0) yield;
    }
  }
  for (const hunk of hunks) {
    const [first] = hunk;
    const start = Math.max(0, first.a - CONTEXT);
    const end = Math.min(a.length, hunk.at(-1)!.aEnd + CONTEXT);
    const more = hunk.reduce((sum, { a, aEnd, b, bEnd }) => sum + (bEnd - b) - (aEnd - a), 0);
    const startB = start + first.b - first.a;
    texts.push(`@@ -${rangeOf(start, end - start)} +${rangeOf(startB, end - start + more)} @@\n`);
    let at = start;
    for (const one of hunk) {
      yield* write(' ', a, at, one.a);
      yield* write('-', a, one.a, one.aEnd);
      yield* write('+', b, one.b, one.bEnd);
      at = one.aEnd;
    }
    yield* write(' ', a, at, end);
  }
  return texts.join('');
}

/** A hunk without lines is placed after the preceding line. */
const rangeOf = (before: number, count: number): string => `${count === 0 ? before : before + 1},${count}`;

const lineText = (sign: string, text: string): string =>
  text.endsWith('\n') ? `${sign}${text}` : `${sign}${text}\n\\ No newline at end of file\n`;
