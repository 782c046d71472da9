import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { secrets } from '../plugins/guards/secrets.ts';
import { finished } from '../src/contract/guard-steps.ts';
import { table } from './stats.ts';

/**
 * `bun bench/guard-secrets.ts FOLDER [--lines N]`: what the guard `secrets` finds in the code of a folder, which has one subfolder for each
 * language. It reads 10,000 lines of each language, in an order of the files that looks random and is always the same, and prints every
 * match with its line. Read the matches: a literal value of a credential is right, and code or a word is wrong.
 */
const [folder, flag, count] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: bun bench/guard-secrets.ts FOLDER [--lines N]');
const LINES = flag === '--lines' ? Number(count) : 10_000;
/** The most lines of one file, so that no file decides the result. */
const FILE_LINES_MAX = 500;
/** Files with a longer line were written by a program. */
const LINE_MAX = 1_000;

const EXTENSIONS: ReadonlySet<string> = new Set([
  ...['.c', '.cc', '.cpp', '.cs', '.ex', '.go', '.h', '.java', '.js', '.kt', '.kts', '.mjs', '.cjs', '.php', '.pl'],
  ...['.pm', '.py', '.rb', '.rs', '.scala', '.sh', '.swift', '.ts', '.tsx', '.vue'],
]);

const guard = secrets.prepare({ entropy: false });

interface Found {
  readonly file: string;
  readonly line: number;
  readonly kind: string;
  readonly text: string;
}

function findIn(file: string, text: string): Found[] {
  const matches = guard.check({ side: 'input', texts: [{ text, role: 'user', kind: 'text' }] });
  if (matches instanceof Promise) throw new Error('the guard waits');
  return finished(matches).flatMap(({ kind, at }): Found[] => {
    if (!at) return [];
    const line = text.slice(0, at.from).split('\n').length;
    const [before, found] = [text.slice(text.lastIndexOf('\n', at.from) + 1, at.from), text.slice(at.from, at.to)];
    const after = text.slice(at.to).split('\n', 1)[0]!;
    return [{ file, line, kind, text: `${before.trimStart().slice(-80)}«${found.slice(0, 80)}»${after.slice(0, 20)}` }];
  });
}

const rows = [['language', 'files', 'lines', 'matches']];
const all: Found[] = [];
for (const language of readdirSync(folder).sort()) {
  const files = readdirSync(join(folder, language), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && EXTENSIONS.has(extname(entry.name)))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .sort((a, b) => Bun.hash.crc32(a) - Bun.hash.crc32(b) || (a < b ? -1 : 1));
  let [read, lines, matches] = [0, 0, 0];
  for (const file of files) {
    if (lines >= LINES) break;
    const own = readFileSync(join(folder, file), 'utf8').split('\n').slice(0, FILE_LINES_MAX);
    if (own.some(({ length }) => length > LINE_MAX)) continue;
    const found = findIn(file, own.slice(0, LINES - lines).join('\n'));
    all.push(...found);
    read++;
    lines += Math.min(own.length, LINES - lines);
    matches += found.length;
  }
  rows.push([language, String(read), String(lines), String(matches)]);
}
for (const { file, line, kind, text } of all) console.log(`${file}:${line} ${kind}: ${text}`);
console.log(`\n${table(rows)}`);
