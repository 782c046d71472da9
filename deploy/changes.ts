import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The themes of a release, in the order of the changelog. */
const THEMES: readonly string[] = [
  'Upgrade',
  'Changes that can break something',
  'APIs and clients',
  'Routing',
  'Money',
  'Keys and people',
  'Guards and cache',
  'Policies',
  'Console',
  'Commands and API',
  'Operation and installation',
  'Plugins',
  'Security',
  'Speed',
];

/** A file in `changes/`. */
export interface Change {
  /** Such as `usage-by-session.md`. */
  readonly name: string;
  readonly text: string;
}

/** The entries of one theme in one file. */
interface Part {
  readonly theme: string;
  readonly entries: string;
}

/** The heading of the section with unreleased changes. */
const UNRELEASED = /^## .*\(unreleased\)$/m;
const THEME_START = /^(?=### )/m;
const PART = /^### (?<theme>.+)\n\n(?<entries>(?:-|1\.) [\s\S]+)$/;

/** @throws Error if the text is not the heading of a known theme with a list under it */
function partOf(path: string, text: string): Part {
  const { theme = '', entries } = PART.exec(text.trim())?.groups ?? {};
  if (!entries) throw new Error(`${path}: start with \`### Theme\`, an empty line and a list.`);
  if (!THEMES.includes(theme)) throw new Error(`${path}: no theme \`${theme}\`. The themes are: ${THEMES.join(', ')}.`);
  return { theme, entries };
}

/** @throws Error if the file has another form than `changes/README.md` describes */
function partsOf({ name, text }: Change): readonly Part[] {
  const parts = text.replaceAll('\r\n', '\n').trim().split(THEME_START);
  return parts.map((part) => {
    const { theme, entries } = partOf(`changes/${name}`, part);
    // A link from `changes/` starts one folder lower than a link from the changelog.
    return { theme, entries: entries.replaceAll('](../', '](') };
  });
}

/** @returns the section with each theme once, in the order of THEMES. Its own entries come before the changes. */
function withChanges(section: string, changes: readonly Change[]): string {
  const [head = '', ...own] = section.split(THEME_START);
  const parts = [...own.map((text) => partOf('CHANGELOG.md', text)), ...changes.flatMap(partsOf)];
  const themes = THEMES.flatMap((theme) => {
    const entries = parts.filter((part) => part.theme === theme).map((part) => part.entries);
    return entries.length === 0 ? [] : [`### ${theme}\n\n${entries.join('\n')}`];
  });
  return [head.trimEnd(), ...themes].join('\n\n');
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
  const section = withChanges(parts[1]!, changes).replace(UNRELEASED, `## ${version} (${day})`);
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
