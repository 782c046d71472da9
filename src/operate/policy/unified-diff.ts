/** A range of lines: of the file after for `+`, of the one before for the others. */
interface LineRange {
  readonly sign: ' ' | '-' | '+';
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** Lines around a change. */
const CONTEXT = 3;
/** Most comparisons of lines in the search for the fewest changed lines, for all files of a difference. */
const COMPARISONS_MAX = 200_000;
/** Lines that are read or written between two yields. */
const LINES_AT_ONCE = 4_096;

/** A text file before and after; null where there is none. */
export interface TextChange {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** The comparisons that are left for the files that follow. */
interface Comparisons {
  left: number;
}

/**
 * The difference of files as `git apply` takes it, in the folder of the files. Empty where nothing differs. Yields after bounded work.
 * Once the comparisons are used up, all lines between the first and the last that differ in a file are replaced.
 * @param shown changes the text of each file's difference, as to mask secrets
 */
export function* unifiedDiff(
  changes: readonly TextChange[],
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

function* fileDiff({ name, before, after }: TextChange, comparisons: Comparisons): Generator<undefined, string> {
  if (before === after) return '';
  const [a, b] = [quoted(`a/${name}`), quoted(`b/${name}`)];
  const head = [`diff --git ${a} ${b}`];
  if (before === null) head.push('new file mode 100644');
  if (after === null) head.push('deleted file mode 100644');
  const [from, to] = [yield* linesOf(before ?? ''), yield* linesOf(after ?? '')];
  const hunks = yield* hunksOf(yield* rangesOf(from, to, comparisons), from, to);
  if (hunks !== '') head.push(`--- ${before === null ? '/dev/null' : a}`, `+++ ${after === null ? '/dev/null' : b}`);
  // Without it, git takes no file of no bytes.
  else head.push(before === null ? `index ${NOTHING}..${EMPTY}` : `index ${EMPTY}..${NOTHING}`);
  return `${head.join('\n')}\n${hunks}`;
}

const NOTHING = '0000000';
/** Git's name of an empty file. */
const EMPTY = 'e69de29';

/** A name as git quotes it, where it has to. */
function quoted(name: string): string {
  if (/^[\w./-]+$/.test(name)) return name;
  const bytes = [...Buffer.from(name)].map((byte) =>
    byte > 31 && byte < 127 && byte !== 34 && byte !== 92
      ? String.fromCharCode(byte)
      : `\\${byte.toString(8).padStart(3, '0')}`,
  );
  return `"${bytes.join('')}"`;
}

/** Lines with their ends; the last one may have none. */
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

/** The ranges of lines that are the same, removed and added, in order. */
function* rangesOf(
  a: readonly string[],
  b: readonly string[],
  comparisons: Comparisons,
): Generator<undefined, LineRange[]> {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [endA, endB] = [a.length - end, b.length - end];
  const isPlain = start === endA || start === endB;
  const edit = isPlain ? null : yield* shortestEdit(a.slice(start, endA), b.slice(start, endB), comparisons);
  const changed = edit?.map(({ sign, from, to }): LineRange => ({ sign, from: from + start, to: to + start }));
  const all: LineRange[] = [
    { sign: ' ', from: 0, to: start },
    ...(changed ?? [
      { sign: '-' as const, from: start, to: endA },
      { sign: '+' as const, from: start, to: endB },
    ]),
    { sign: ' ', from: endA, to: a.length },
  ];
  return all.filter(({ from, to }) => from < to);
}

/** Myers' greedy search of the fewest changed lines; null once the comparisons are used up. */
function* shortestEdit(
  a: readonly string[],
  b: readonly string[],
  comparisons: Comparisons,
): Generator<undefined, LineRange[] | null> {
  /** By diagonal, how far it was followed in `a`, after each number of steps. */
  const trail: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let steps = 0; steps <= a.length + b.length; steps++) {
    trail.push(reached);
    const next = new Map<number, number>();
    for (let k = -steps; k <= steps; k += 2) {
      let x = cameDown(reached, k, steps) ? (reached.get(k + 1) ?? 0) : (reached.get(k - 1) ?? 0) + 1;
      if (comparisons.left-- <= 0) return null;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) {
        if (comparisons.left-- <= 0) return null;
        x++;
      }
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a.length, b.length, trail);
    }
    reached = next;
    yield;
  }
  return null;
}

/** Whether the way to a diagonal came by a line of `b`, and not by one of `a`. */
const cameDown = (reached: ReadonlyMap<number, number>, k: number, steps: number): boolean =>
  k === -steps || (k !== steps && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));

/** The ranges of a way that was found, from its end. */
function walkBack(lengthA: number, lengthB: number, trail: readonly ReadonlyMap<number, number>[]): LineRange[] {
  const ranges: LineRange[] = [];
  let [x, y] = [lengthA, lengthB];
  for (let steps = trail.length - 1; steps >= 0; steps--) {
    const reached = trail[steps]!;
    const k = x - y;
    const isDown = cameDown(reached, k, steps);
    const fromX = steps === 0 ? 0 : (reached.get(isDown ? k + 1 : k - 1) ?? 0);
    const fromY = steps === 0 ? 0 : fromX - (isDown ? k + 1 : k - 1);
    // Past the line that the step changes, the lines are the same.
    const sameFrom = steps === 0 ? 0 : isDown ? fromX : fromX + 1;
    if (x > sameFrom) ranges.push({ sign: ' ', from: sameFrom, to: x });
    if (steps > 0)
      ranges.push(isDown ? { sign: '+', from: fromY, to: fromY + 1 } : { sign: '-', from: fromX, to: fromX + 1 });
    [x, y] = [fromX, fromY];
  }
  return ranges.reverse();
}

/** A hunk without its text: where it begins, and its ranges. */
interface Hunk {
  readonly a: number;
  readonly b: number;
  readonly ranges: LineRange[];
}

/** The changes with the lines around them. */
function* hunksOf(
  ranges: readonly LineRange[],
  a: readonly string[],
  b: readonly string[],
): Generator<undefined, string> {
  const texts: string[] = [];
  let written = 0;
  for (const { a: atA, b: atB, ranges: own } of hunkRanges(ranges)) {
    const count = (but: LineRange['sign']) =>
      own.reduce((sum, { sign, from, to }) => (sign === but ? sum : sum + to - from), 0);
    let block = [`@@ -${rangeOf(atA, count('+'))} +${rangeOf(atB, count('-'))} @@\n`];
    for (const { sign, from, to } of own) {
      const lines = sign === '+' ? b : a;
      for (let at = from; at < to; at++) {
        block.push(lineText(sign, lines[at]!));
        if (++written % LINES_AT_ONCE !== 0) continue;
        texts.push(block.join(''));
        block = [];
        yield;
      }
    }
    texts.push(block.join(''));
  }
  return texts.join('');
}

/** Cuts the ranges into hunks: of lines that are the same, only those next to a change stay. */
function hunkRanges(ranges: readonly LineRange[]): Hunk[] {
  const hunks: Hunk[] = [];
  let open: Hunk | null = null;
  let [a, b] = [0, 0];
  for (const [at, { sign, from, to }] of ranges.entries()) {
    const length = to - from;
    if (sign !== ' ') {
      if (!open) {
        open = { a, b, ranges: [] };
        hunks.push(open);
      }
      open.ranges.push({ sign, from, to });
    } else {
      const isLast = at === ranges.length - 1;
      const isWhole: boolean = open !== null && !isLast && length <= 2 * CONTEXT;
      if (open) open.ranges.push({ sign, from, to: isWhole ? to : Math.min(to, from + CONTEXT) });
      if (!isWhole && !isLast) {
        const shown = Math.min(CONTEXT, length);
        open = { a: a + length - shown, b: b + length - shown, ranges: [{ sign, from: to - shown, to }] };
        hunks.push(open);
      }
    }
    if (sign !== '+') a += length;
    if (sign !== '-') b += length;
  }
  return hunks;
}

/** A hunk without lines stands behind the line before it. */
const rangeOf = (before: number, count: number): string => `${count === 0 ? before : before + 1},${count}`;

const lineText = (sign: LineRange['sign'], text: string): string =>
  text.endsWith('\n') ? `${sign}${text}` : `${sign}${text}\n\\ No newline at end of file\n`;
