/** Characters read of a question: half from its head, half from its tail. */
const SAMPLE = 2_000;

/**
 * How a line of source code begins that prose does not: declarations, assignments, imports. Every
 * repetition is bounded: callers write this text.
 */
const CODE_START = new RegExp(
  [
    /[ \t]{0,40}(?:async )?(?:def|fn|func|function)\b[^(]{0,80}\(/,
    /[ \t]{0,40}(?:export )?(?:class|interface|struct|enum) [A-Z]\w{0,80} ?.{0,80}[:{]$/,
    /[ \t]{0,40}(?:export )?(?:const|let|var) [\w{[][^=]{0,80}=/,
    /[ \t]{0,40}(?:public|private|protected) .{1,160}(?:\{|\);)$/,
    /from [\w.]{1,80} import |import .{1,120} from ['"]|import [\w.]{1,80}(?:;| as \w)/,
    /#include ?[<"]|package (?:main$|[\w.]{1,80};)|Traceback \(most recent call last\)/,
  ]
    .map(({ source }) => `^(?:${source})`)
    .join('|'),
);
/** How a line of it ends: as statements and blocks do. */
const CODE_END = /(?:[)}\]] ?;|[)\w>] ?\{|=.{1,160};)$/;
/** LaTeX, symbols that only mathematics uses, and arithmetic written out. */
const MATHS =
  /\\(?:frac|sqrt|sum|int|cdot|begin\{)|\$\$|[∑∫√≤≥≠∂]|\d ?[-+*/^] ?\d+ ?=|\b\d?[a-z]\^\d|\b\d[a-z] ?[-+=] ?\d/i;
/** Without one of these nothing of it can match; a class of characters is found many times quicker. */
const MATHS_MARK = /[\\$\d∑∫√≤≥≠∂]/;

/**
 * The task that the *form* of a question gives away: code blocks and mathematical notation. Words are
 * not read for it; what the form does not show is `general`.
 */
export function taskOfText(question: string): 'coding' | 'math' | 'general' {
  const half = SAMPLE / 2;
  const text = question.length <= SAMPLE ? question : `${question.slice(0, half)}\n${question.slice(-half)}`;
  if (text.includes('```') || hasLineOfCode(text)) return 'coding';
  return MATHS_MARK.test(text) && MATHS.test(text) ? 'math' : 'general';
}

/** Line by line: the marks stand at its start or end, so that nothing between needs a search. */
function hasLineOfCode(text: string): boolean {
  for (let from = 0; from <= text.length; ) {
    const found = text.indexOf('\n', from);
    const next = found < 0 ? text.length : found;
    const to = next > from && text.charCodeAt(next - 1) === 0x0d ? next - 1 : next;
    const line = text.slice(from, to);
    if (CODE_START.test(line)) return true;
    const last = line.charCodeAt(line.length - 1);
    if ((last === 0x3b || last === 0x7b) && CODE_END.test(line)) return true;
    from = next + 1;
  }
  return false;
}
