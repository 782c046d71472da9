import { cpus } from 'node:os';
import { join } from 'node:path';

/** Writes a text between the marks of one part of a page, whose path starts at the root of the repository. */
export async function writePart(page: string, part: string, text: string): Promise<void> {
  const path = join(import.meta.dir, '..', page);
  await Bun.write(path, withPart(await Bun.file(path).text(), part, text));
}

/** @throws Error if the page has no marks for that part. */
export function withPart(page: string, part: string, text: string): string {
  const marks = new RegExp(`(<!-- made: ${part} -->\n)[^]*?(<!-- end -->)`);
  if (!marks.test(page)) throw new Error(`the page has no place for ${part}`);
  return page.replace(marks, (_, begin: string, end: string) => `${begin}\n${text}\n\n${end}`);
}

/** Returns the day and the machine of a measurement. */
export function occasion(): string {
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, ${cpus().length} cores (${cpus()[0]!.model.trim()}), Bun ${Bun.version}`;
}
