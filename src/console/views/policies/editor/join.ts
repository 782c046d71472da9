import { Chunk } from '@codemirror/merge';
import { Text } from '@codemirror/state';

/** Two edits of one text put together. */
export interface JoinedText {
  readonly text: string;
  /** Lines of the result, from 1, where both edits changed the same and mine was kept. */
  readonly conflicts: readonly number[];
}

/** A part of the base, in whole lines, with its new text. */
interface LineEdit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Joins two edits of a text, line by line. Where both changed the same lines or neighbours, mine stays and the line is reported.
 * @param base the text that both began from
 */
export function joined(base: string, mine: string, theirs: string): JoinedText {
  const whole = framed(base);
  const [own, other] = [editsOf(base, mine), editsOf(base, theirs)];
  const conflicts: number[] = [];
  let text = '';
  let at = 0;
  while (own.length > 0 || other.length > 0) {
    const group = nextGroup(own, other);
    text += whole.slice(at, group.from);
    const [kept, lost] = [group.own, group.other].map((edits) => applied(whole, edits, group)) as [string, string];
    const isContested = group.own.length > 0 && group.other.length > 0 && kept !== lost;
    if (isContested) conflicts.push(text.split('\n').length - 1);
    text += group.own.length > 0 ? kept : lost;
    at = group.to;
  }
  text += whole.slice(at);
  return { text: text.slice(FIRST.length, -1), conflicts };
}

/** A line above, for the library loses a change of an empty first line; and an end of the last line. */
const FIRST = '#\n';
const framed = (text: string): string => `${FIRST}${text}\n`;

function editsOf(base: string, text: string): LineEdit[] {
  const lines = (one: string) => Text.of(framed(one).slice(0, -1).split('\n'));
  const behind = framed(text);
  return Chunk.build(lines(base), lines(text)).map(({ fromA, toA, fromB, toB }) => ({
    from: fromA,
    to: toA,
    text: behind.slice(fromB, toB),
  }));
}

/** Takes the first edits, with all that touch them, of both lists. */
function nextGroup(own: LineEdit[], other: LineEdit[]) {
  const from = Math.min(own[0]?.from ?? Number.POSITIVE_INFINITY, other[0]?.from ?? Number.POSITIVE_INFINITY);
  let to = from;
  const taken = { own: [] as LineEdit[], other: [] as LineEdit[] };
  const take = (list: LineEdit[], into: LineEdit[]): boolean => {
    const [first] = list;
    if (!first || first.from > to) return false;
    list.shift();
    into.push(first);
    to = Math.max(to, first.to);
    return true;
  };
  while (take(own, taken.own) || take(other, taken.other));
  return { from, to, ...taken };
}

function applied(
  whole: string,
  edits: readonly LineEdit[],
  { from, to }: { readonly from: number; readonly to: number },
): string {
  let text = '';
  let at = from;
  for (const edit of edits) {
    text += whole.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return text + whole.slice(at, to);
}
