/** Terminal styles for the parts of a message. */
export type Paint = ReturnType<typeof painter>;

/** Returns terminal colours if `isColoured`, otherwise functions that return plain text. */
export function painter(isColoured: boolean) {
  const style = (code: number) => (text: string) =>
    isColoured && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text;
  return { strong: style(1), faint: style(2), error: style(31), warning: style(33), good: style(32), label: style(36) };
}
