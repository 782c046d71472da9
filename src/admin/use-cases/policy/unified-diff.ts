import type { FileEdit } from '../../../policy/runtime/write-edit.ts';

/** Lines of the file before, and the lines of the file after that replace them. The ends are exclusive. */
interface Replacement {
  a: number;
  readonly aEnd: number;
  b: number;
  readonly bEnd: number;
}

/** Lines around a change. */
const CONTEXT = 3;
/** Most comparisons of lines in the search for the fewest changed lines, for all files of a difference. */
const COMPARISONS_MAX = 200_000;
/** Lines that are read or written between two yields. */
const LINES_AT_ONCE = 4_096;

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

/** The lines that differ, in order. */
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

/** Myers' greedy search of the fewest changed lines; null once the comparisons are used up. */
function* fewestLines(
  a: readonly string[],
  b: readonly string[],
  whole: Replacement,
  comparisons: Comparisons,
): Generator<undefined, readonly Replacement[] | null> {
  const [lengthA, lengthB] = [whole.aEnd - whole.a, whole.bEnd - whole.b];
  /** By diagonal, how far it was followed in `a`, before each number of steps. */
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

/** Whether the way to a diagonal came by a line of `b`, and not by one of `a`. */
const cameDown = (reached: ReadonlyMap<number, number>, k: number, steps: number): boolean =>
  k === -steps || (k !== steps && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));

/** The replacements of a way that was found, from its end. */
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

/** The replacements with the lines around them; those that are near each other in one hunk. */
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

/** A hunk without lines stands after the line before it. */
const rangeOf = (before: number, count: number): string => `${count === 0 ? before : before + 1},${count}`;

const lineText = (sign: string, text: string): string =>
  text.endsWith('\n') ? `${sign}${text}` : `${sign}${text}\n\\ No newline at end of file\n`;
