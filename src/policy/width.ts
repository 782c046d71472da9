/** Code points of width 0 in a terminal: combining marks, joiners, variation selectors. */
const ZERO = /^(?:\p{Mn}|\p{Me}|\p{Cf})$/u;
/** Code points of width 2: East Asian wide and full-width forms, and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$|^\p{Emoji_Presentation}$/u;

/** The width of a text in terminal columns. A tab counts as one. */
export function widthOf(text: string): number {
  let width = 0;
  for (const point of text) width += ZERO.test(point) ? 0 : WIDE.test(point) ? 2 : 1;
  return width;
}

/** Blanks as wide as a text. Tabs stay tabs, so the width of a tab does not matter. */
export function blanksFor(text: string): string {
  return text
    .split('\t')
    .map((part) => ' '.repeat(widthOf(part)))
    .join('\t');
}
