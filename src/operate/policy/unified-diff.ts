/** A line with its end, as a unified diff shows it. */
interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Lines around a change. */
const CONTEXT = 3;
/** Steps of the search for the fewest changed lines; beyond it, all lines between the first and the last that differ are replaced. */
const STEPS_MAX = 400;

/** A text file before and after; null where there is none. */
export interface TextChange {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** The difference of files as `git apply` takes it, in the folder of the files. Empty where nothing differs. */
export const unifiedDiff = (changes: readonly TextChange[]): string => changes.map(fileDiff).join('');

function fileDiff({ name, before, after }: TextChange): string {
  if (before === after) return '';
  const [a, b] = [quoted(`a/${name}`), quoted(`b/${name}`)];
  const head = [`diff --git ${a} ${b}`];
  if (before === null) head.push('new file mode 100644');
  if (after === null) head.push('deleted file mode 100644');
  const hunks = hunksOf(diffLines(linesOf(before ?? ''), linesOf(after ?? '')));
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
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const [a, b] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ sign: ' ', text }));
  return [
    ...same(before.slice(0, start)),
    ...(shortestEdit(a, b) ?? replacement(a, b)),
    ...same(before.slice(before.length - end)),
  ];
}

const replacement = (a: readonly string[], b: readonly string[]): DiffLine[] => [
  ...a.map((text): DiffLine => ({ sign: '-', text })),
  ...b.map((text): DiffLine => ({ sign: '+', text })),
];

/** Myers' greedy search of the fewest changed lines; null where there are too many. */
function shortestEdit(a: readonly string[], b: readonly string[]): DiffLine[] | null {
  /** By diagonal, how far it was followed in `a`, after each number of steps. */
  const trail: Map<number, number>[] = [];
  let reached = new Map([[1, 0]]);
  for (let steps = 0; steps <= Math.min(STEPS_MAX, a.length + b.length); steps++) {
    trail.push(reached);
    const next = new Map<number, number>();
    for (let k = -steps; k <= steps; k += 2) {
      let x = cameDown(reached, k, steps) ? (reached.get(k + 1) ?? 0) : (reached.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trail);
    }
    reached = next;
  }
  return null;
}

/** Whether the way to a diagonal came by a line of `b`, and not by one of `a`. */
const cameDown = (reached: ReadonlyMap<number, number>, k: number, steps: number): boolean =>
  k === -steps || (k !== steps && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));

function walkBack(
  a: readonly string[],
  b: readonly string[],
  trail: readonly ReadonlyMap<number, number>[],
): DiffLine[] {
  const lines: DiffLine[] = [];
  let [x, y] = [a.length, b.length];
  for (let steps = trail.length - 1; steps >= 0; steps--) {
    const reached = trail[steps]!;
    const k = x - y;
    const from = cameDown(reached, k, steps) ? k + 1 : k - 1;
    const fromX = reached.get(from) ?? 0;
    const fromY = fromX - from;
    while (x > fromX && y > fromY && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
      lines.push({ sign: ' ', text: a[--x]! });
      y--;
    }
    if (steps === 0) break;
    if (from === k + 1) lines.push({ sign: '+', text: b[--y]! });
    else lines.push({ sign: '-', text: a[--x]! });
  }
  return lines.reverse();
}

/** The changes with the lines around them. */
function hunksOf(lines: readonly DiffLine[]): string {
  const near = lines.map(() => false);
  for (const [at, { sign }] of lines.entries()) {
    if (sign !== ' ') near.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  }
  let text = '';
  let [a, b] = [0, 0];
  for (let at = 0; at < lines.length; ) {
    if (!near[at]) {
      a++;
      b++;
      at++;
      continue;
    }
    const end = near.indexOf(false, at);
    const hunk = lines.slice(at, end < 0 ? lines.length : end);
    const [ofA, ofB] = [hunk.filter(({ sign }) => sign !== '+').length, hunk.filter(({ sign }) => sign !== '-').length];
    text += `@@ -${rangeOf(a, ofA)} +${rangeOf(b, ofB)} @@\n${hunk.map(lineText).join('')}`;
    a += ofA;
    b += ofB;
    at += hunk.length;
  }
  return text;
}

/** A hunk without lines stands behind the line before it. */
const rangeOf = (before: number, count: number): string => `${count === 0 ? before : before + 1},${count}`;

const lineText = ({ sign, text }: DiffLine): string =>
  text.endsWith('\n') ? `${sign}${text}` : `${sign}${text}\n\\ No newline at end of file\n`;
