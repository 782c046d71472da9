import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEEP_TIME_LIMIT_MS } from '../time-limit.ts';
import { SECTIONS, type Section } from './sections.ts';

/**
 * `npm run test:deep [section]` runs the expensive tests. Every test that passes writes a row of `test/deep/results.md`; the page keeps the
 * rows of other sections. The exit code is 1 if anything failed.
 */
const ROOT = join(import.meta.dir, '../..');
const PAGE = join(import.meta.dir, 'results.md');
/** If a section has more rows than this, the page has their number instead. */
const ROWS_MAX = 2;

/** The page cuts longer results; the output of the run has the whole text. */
const CHARACTERS_MAX = 110;

/** The product that the sections test. */
const PRODUCT = ['src', 'plugins', 'policies', 'deploy', 'signalbox', 'package-lock.json'];

interface Proof {
  readonly section: string;
  readonly what: string;
  readonly runs: number;
  readonly seed: number;
  /** Markdown. */
  readonly table?: string;
}

const asked = process.argv[2];
const chosen = SECTIONS.filter(({ name }) => asked === undefined || name === asked);
if (chosen.length === 0) {
  console.error(`There is no section ${asked}; there are ${SECTIONS.map(({ name }) => name).join(', ')}.`);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'signalbox-deep-'));
let failed = false;
for (const section of chosen) failed = !(await prove(section)) || failed;
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);

async function prove({ name, files }: Section): Promise<boolean> {
  const proofs = join(folder, name);
  const failing: string[] = [];
  // Each file has a process of its own: after 17 of the 133 files of laws, one process had 6.5 GB.
  for (const file of files) if (!(await passes(file, proofs))) failing.push(file);
  if (failing.length > 0) console.error(`${name}: these files failed: ${failing.join(', ')}`);
  if (failing.length > 0 || !existsSync(proofs)) return false;
  const found = readFileSync(proofs, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Proof => ({ ...(JSON.parse(line) as Proof), section: name }));
  if (found.length === 0) return true;
  for (const { what } of found) console.log(`${name}: ${what}`);
  const rows = await Promise.all(joined(found).map(row));
  const tables = found.flatMap(({ table }) => table ?? []);
  writeFileSync(PAGE, pageWith(name, rows, tables.length > 0 ? tables.join('\n\n') : undefined));
  // Biome's format pads tables.
  await Bun.spawn([join(ROOT, 'node_modules/.bin/biome'), 'format', '--write', PAGE], { cwd: ROOT, stdout: 'ignore' })
    .exited;
  return true;
}

/** Runs a test file, which adds lines to `proofs`. */
async function passes(file: string, proofs: string): Promise<boolean> {
  const child = Bun.spawn([process.execPath, 'test', `--timeout=${DEEP_TIME_LIMIT_MS}`, file], {
    cwd: ROOT,
    // A test may have more callers than the engine's default for concurrent requests.
    env: { ...process.env, SIGNALBOX_DEEP: '1', SIGNALBOX_PROOF: proofs, BUN_CONFIG_MAX_HTTP_REQUESTS: '4096' },
    stdout: 'inherit',
    stderr: 'inherit',
  });
  return (await child.exited) === 0;
}

/** Merges the proofs of one test file, which share their runs and their seed. A large number of proofs is counted, not listed. */
function joined(proofs: readonly Proof[]): Proof[] {
  const groups = Map.groupBy(proofs, ({ runs, seed }) => `${runs} ${seed}`);
  if (groups.size > ROWS_MAX) {
    const runs = Math.min(...proofs.map((proof) => proof.runs));
    const what = `${groups.size} tests, each at its own seed, with at least so many runs`;
    return [{ ...proofs[0]!, what, runs }];
  }
  return [...groups.values()].map((group) => ({ ...group[0]!, what: group.map(({ what }) => what).join('; ') }));
}

async function row({ section, what, runs, seed }: Proof): Promise<string> {
  const date = new Date().toISOString().slice(0, 10);
  const told = [section, brief(what), String(runs), String(seed), await commit(), date];
  return `| ${told.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** Returns the beginning of a result, up to the end of a part. */
function brief(what: string): string {
  if (what.length <= CHARACTERS_MAX) return what;
  const cut = what.slice(0, CHARACTERS_MAX);
  return `${cut.slice(0, Math.max(cut.lastIndexOf('; '), cut.lastIndexOf(', '), cut.lastIndexOf(': ')))} …`;
}

/** Returns the commit that changed the product last, with `+` if the folder had uncommitted changes. */
async function commit(): Promise<string> {
  const git = async (...args: string[]) =>
    (await new Response(Bun.spawn(['git', ...args], { cwd: ROOT, stderr: 'ignore' }).stdout).text()).trim();
  const hash = await git('log', '-1', '--format=%h', '--', ...PRODUCT);
  const own = ['test', ':!test/deep/results.md'];
  const changed = await git('status', '--porcelain', '--untracked-files=no', '--', ...PRODUCT, ...own);
  return changed === '' ? hash : `${hash}+`;
}

/** @param table a table under the section's name, after the rows of all sections; tables of other sections stay */
function pageWith(section: string, rows: readonly string[], table?: string): string {
  const [before = '', ...parts] = existsSync(PAGE) ? readFileSync(PAGE, 'utf8').split('\n## ') : [];
  const order = SECTIONS.map(({ name }) => name);
  const at = (line: string) => order.indexOf(line.split('|')[1]?.trim() ?? '');
  const kept = before.split('\n').filter((line) => at(line) >= 0 && at(line) !== order.indexOf(section));
  const all = [...kept, ...rows].sort((a, b) => at(a) - at(b));
  const tables = new Map(parts.map((text) => [text.split('\n', 1)[0]!, text.trim()]));
  if (table !== undefined) tables.set(section, `${section}\n\n${table}`);
  return `# Results of \`npm run test:deep\`

Made by the command; [docs/proofs.md](../../docs/proofs.md) says how to read it. A \`+\` after a commit means uncommitted changes.

| section | what held | runs | seed | commit | date |
| --- | --- | ---: | ---: | --- | --- |
${all.join('\n')}
${[...tables.values()].map((text) => `\n## ${text}\n`).join('')}`;
}
