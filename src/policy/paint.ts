/** How the parts of a diagnostic look. */
export interface Paint {
  place(text: string): string;
  error(text: string): string;
  warning(text: string): string;
  label(text: string): string;
}

const ansi = (code: number) => (text: string) => (text === '' ? '' : `\u001b[${code}m${text}\u001b[0m`);
const plain = (text: string) => text;

const COLOURED: Paint = { place: ansi(1), error: ansi(31), warning: ansi(33), label: ansi(36) };
const PLAIN: Paint = { place: plain, error: plain, warning: plain, label: plain };

/** Colours of a terminal, or none. */
export function painter(colour: boolean): Paint {
  return colour ? COLOURED : PLAIN;
}
