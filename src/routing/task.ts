/** Characters read of a question: half from its head, half from its tail. */
const SAMPLE = 2_000;

/**
 * Marks of source code that prose does not have: fences, declarations, assignments, lines that end as
 * statements and blocks do. Every repetition is bounded: callers write this text.
 */
const CODE = new RegExp(
  [
    /```/,
    /^[ \t]{0,40}(?:async )?(?:def|fn|func|function)\b[^\n(]{0,80}\(/,
    /^[ \t]{0,40}(?:export )?(?:class|interface|struct|enum) [A-Z]\w{0,80} ?[^\n]{0,80}[:{]$/,
    /^[ \t]{0,40}(?:export )?(?:const|let|var) [\w{[][^\n=]{0,80}=/,
    /^[ \t]{0,40}(?:public|private|protected) [^\n]{1,160}(?:\{|\);)$/,
    /^from [\w.]{1,80} import |^import [^\n]{1,120} from ['"]|^import [\w.]{1,80}(?:;| as \w)/,
    /^#include ?[<"]|^package (?:main$|[\w.]{1,80};)|^Traceback \(most recent call last\)/,
    /[)}\]] ?;$|[)\w>] ?\{$|=[^\n]{1,160};$/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'm',
);
/** LaTeX, symbols that only mathematics uses, and arithmetic written out. */
const MATHS =
  /\\(?:frac|sqrt|sum|int|cdot|begin\{)|\$\$|[∑∫√≤≥≠∂]|\d ?[-+*/^] ?\d+ ?=|\b\d?[a-z]\^\d|\b\d[a-z] ?[-+=] ?\d/i;

/**
 * The task that the *form* of a question gives away: code blocks and mathematical notation. Words are
 * not read for it; what the form does not show is `general`.
 */
export function taskOfText(question: string): 'coding' | 'math' | 'general' {
  const half = SAMPLE / 2;
  const text = question.length <= SAMPLE ? question : `${question.slice(0, half)}\n${question.slice(-half)}`;
  if (CODE.test(text)) return 'coding';
  return MATHS.test(text) ? 'math' : 'general';
}
