import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file in `changes/`. */
export interface Change {
  /** Such as `usage-by-session.md`. */
  readonly name: string;
  readonly text: string;
}

/** The heading of the section with unreleased changes. */
const UNRELEASED = /^## .*\(unreleased\)$/m;
const CHANGE = /^### (?<theme>.+)\n\n(?<entries>- [\s\S]+)$/;

/** @throws Error if the text is not a heading of a theme with a list under it */
function themeOf({ name, text }: Change): { readonly theme: string; readonly entries: string } {
  const { theme, entries } = CHANGE.exec(text.replaceAll('\r\n', '\n').trim())?.groups ?? {};
  if (!theme || !entries) throw new Error(`changes/${name}: start with \`### Theme\`, an empty line and a list.`);
  // A link from `changes/` starts one folder lower than a link from the changelog.
  return { theme: theme.trim(), entries: entries.replaceAll('](../', '](') };
}

/** @returns the section with the entries at the end of their theme, or under a new theme */
function withChange(section: string, change: Change): string {
  const { theme, entries } = themeOf(change);
  const [before, ...rest] = section.split(/^(?=### )/m);
  const at = rest.findIndex((part) => part.split('\n', 1)[0]!.trim() === `### ${theme}`);
  if (at < 0) return `${section.trimEnd()}\n\n### ${theme}\n\n${entries}\n`;
  rest[at] = `${rest[at]!.trimEnd()}\n${entries}\n\n`;
  return [before, ...rest].join('').trimEnd().concat('\n');
}

/**
 * Moves changes into the section of a new release. It is the unreleased section, or a new section above all releases.
 * @param version such as `0.2.0`
 * @param day of the release, such as `2026-12-01`
 * @returns the new text of CHANGELOG.md
 * @throws Error if a change does not have the form that `changes/README.md` describes
 */
export function withRelease(changelog: string, changes: readonly Change[], version: string, day: string): string {
  const parts = changelog.split(/^(?=## )/m);
  if (!UNRELEASED.test(parts[1] ?? '')) parts.splice(1, 0, '## (unreleased)\n');
  const section = changes.reduce(withChange, parts[1]!).replace(UNRELEASED, `## ${version} (${day})`);
  return [parts[0], `${section.trimEnd()}\n\n`, ...parts.slice(2)].join('').trimEnd().concat('\n');
}

/** Returns the changes in `changes/` of the sources in a folder, sorted by name. */
export function pendingChanges(root: string): readonly Change[] {
  const names = readdirSync(join(root, 'changes')).filter((name) => name.endsWith('.md') && name !== 'README.md');
  return names.sort().map((name) => ({ name, text: readFileSync(join(root, 'changes', name), 'utf8') }));
}

/** `npm run changes -- VERSION`. */
if (import.meta.main) {
  const [version] = process.argv.slice(2);
  if (!version) throw new Error('Name the version of the release: npm run changes -- 0.2.0');
  const root = join(import.meta.dir, '..');
  const changes = pendingChanges(root);
  const page = join(root, 'CHANGELOG.md');
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(page, withRelease(readFileSync(page, 'utf8'), changes, version, day));
  // A list after a paragraph gets its empty line.
  await Bun.spawn([join(root, 'node_modules/.bin/biome'), 'format', '--write', page], { stdout: 'ignore' }).exited;
  for (const { name } of changes) rmSync(join(root, 'changes', name));
  process.stdout.write(`CHANGELOG.md has ${changes.length} new changes, under ${version} (${day}).\n`);
}
