import type { Place } from './diagnostics.ts';
import { maskSecrets } from './secrets.ts';

/** File → its lines, fit to be shown. */
export type SourceLines = ReadonlyMap<string, readonly string[]>;

/** Splits files into lines in which nothing secret is left: neither what looks like a key nor the given places. */
export function sourceLines(
  files: readonly { readonly path: string; readonly text: string }[],
  secrets: readonly Place[],
): SourceLines {
  const lines = new Map(files.map((file) => [file.path, file.text.split(/\r?\n/)]));
  for (const { file, line, column, length } of secrets) {
    const of = lines.get(file);
    const text = of?.[line - 1];
    if (!of || text === undefined) continue;
    const from = column - 1;
    // Same length, so that other carets on the line stay where they belong.
    of[line - 1] = text.slice(0, from) + '*'.repeat(Math.min(length, text.length - from)) + text.slice(from + length);
  }
  return new Map([...lines].map(([path, of]) => [path, of.map(maskSecrets)]));
}

/** The line of a place with the line before it and carets below; empty when the file is not at hand. */
export function frameOf(place: Place, lines: SourceLines): string {
  const of = lines.get(place.file);
  const text = of?.[place.line - 1];
  if (!of || text === undefined) return '';
  const width = String(place.line).length;
  const row = (mark: string, number: string, content: string) =>
    `${mark} ${number.padStart(width)} | ${content}`.trimEnd();
  const before = of[place.line - 2];
  const from = Math.min(place.column - 1, text.length);
  // Tabs stay tabs, so that the carets stand right whatever a tab's width.
  const indent = text.slice(0, from).replace(/[^\t]/g, ' ');
  const carets = '^'.repeat(Math.max(1, Math.min(place.length, text.length - from)));
  return [
    ...(before?.trim() ? [row(' ', String(place.line - 1), before)] : []),
    row('>', String(place.line), text),
    row(' ', '', indent + carets),
  ].join('\n');
}
