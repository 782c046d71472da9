/** Terminal styles for the parts of a message. */
export interface Paint {
  strong(text: string): string;
  faint(text: string): string;
  error(text: string): string;
  warning(text: string): string;
  good(text: string): string;
  label(text: string): string;
}

const ansi = (code: number) => (text: string) => (text === '' ? '' : `\u001b[${code}m${text}\u001b[0m`);
const plain = (text: string) => text;

const COLOURED: Paint = {
  strong: ansi(1),
  faint: ansi(2),
  error: ansi(31),
  warning: ansi(33),
  good: ansi(32),
  label: ansi(36),
};
const PLAIN: Paint = { strong: plain, faint: plain, error: plain, warning: plain, good: plain, label: plain };

/** Returns terminal colours, or plain text. */
export function painter(colour: boolean): Paint {
  return colour ? COLOURED : PLAIN;
}
