/** Characters read of a question: half from its head, half from its tail. */
const SAMPLE = 2_000;

/** Marks of source code that prose does not have. Every repetition is bounded: callers write this text. */
const CODE =
  /```|^[ \t]{0,40}(?:def|class|func|fn|import|from|const|let|var|public|private|#include|package)\b[^\n]{1,160}[({;:=]$|^Traceback \(most recent call last\)|(?:\)|\}|\w)[ ]?[{};]$\n/m;
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
