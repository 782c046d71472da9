import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { visible } from '../../core/visible.ts';
import { type Imported, importLitellm, NotYaml } from '../../importers/litellm/litellm.ts';
import { parseFlags, UsageError } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { day } from '../text.ts';
import { reportJson, reportText } from './report.ts';

/** What importing is given. */
export interface ImportCommand {
  /** The folder of the shipped policy: facts of models that a configuration names and does not state. */
  readonly shippedPolicies: string;
  readonly now: () => number;
}

const FLAGS = {
  out: { type: 'string', default: 'policies-from-litellm' },
  prices: { type: 'string' },
  json: { type: 'boolean', default: false },
  force: { type: 'boolean', default: false },
} as const;

const CONFIGURATION_BYTES_MAX = 4 * 1024 * 1024;

/** `signalbox import litellm FILE`. Throws UsageError, or an Error of one clear sentence. */
export async function runImport(args: readonly string[], command: ImportCommand): Promise<CommandResult> {
  const { values, positionals } = parseFlags(() =>
    parseArgs({ args: [...args], options: FLAGS, allowPositionals: true }),
  );
  const [from, file, ...rest] = positionals;
  if (from !== 'litellm' || file === undefined || rest.length > 0) {
    throw new UsageError('import takes litellm FILE, or - for what comes in. See signalbox help.');
  }
  const name = file === '-' ? 'stdin' : basename(file);
  const imported = read(file, await textOf(file), {
    name,
    catalog: await textOf(join(command.shippedPolicies, 'models.yaml')),
    priceMap: values.prices === undefined ? new Map() : priceMapOf(values.prices, await textOf(values.prices)),
    today: day(command.now()),
  });
  if (imported.files.length === 0) throw new UsageError(nothingIn(file, imported));
  await writeAll(values.out, imported, values.force, command);
  const written = new Set(imported.files.map((one) => one.name));
  const others = (await readdir(values.out)).filter((one) => /\.ya?ml$/.test(one) && !written.has(one));
  const code = imported.report.problems.length > 0 ? 2 : 0;
  const told = { file, folder: values.out, imported, others };
  return { text: values.json ? reportJson(told) : reportText(told), code };
}

function read(file: string, text: string, sources: Parameters<typeof importLitellm>[1]): Imported {
  try {
    return importLitellm(text, sources);
  } catch (cause) {
    if (!(cause instanceof NotYaml)) throw cause;
    const { line, column } = cause.where;
    throw new UsageError(`${file}:${line}:${column}: ${cause.message}.`);
  }
}

async function textOf(file: string): Promise<string> {
  try {
    const bytes = file === '-' ? await Bun.stdin.bytes() : await readFile(file);
    if (file.endsWith('.json') || bytes.length <= CONFIGURATION_BYTES_MAX) {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    }
  } catch (cause) {
    const isText = cause instanceof TypeError;
    throw new UsageError(isText ? `${file} is not UTF-8 text.` : `${file} cannot be read.`);
  }
  throw new UsageError(`${file} has more than ${CONFIGURATION_BYTES_MAX} bytes, which no configuration has.`);
}

function priceMapOf(file: string, text: string): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Told below, together with JSON of another kind.
  }
  if (!isMap(parsed))
    throw new UsageError(`${file} is not LiteLLM's map of prices: a JSON object by the names of models.`);
  return new Map(Object.entries(parsed).flatMap(([name, entry]) => (isMap(entry) ? [[name, entry] as const] : [])));
}

/** Why there is nothing to write: the problems, or else what keeps each entry out. */
function nothingIn(file: string, { report }: Imported): string {
  const places = report.problems.map(({ line, column, path, message }) => `  ${line}:${column} ${path}: ${message}`);
  const reasons = report.without.map(({ name, why }) => `  ${name ?? 'an entry'}: ${why}`);
  const told = (places.length > 0 ? places : reasons).map(visible);
  const why = told.length > 0 ? told.join('\n') : '  it has no model_list with entries';
  return `${file} has no model that Signalbox can serve:\n${why}`;
}

/** Writes all files or none: beside the folder first, then into its place. */
async function writeAll(folder: string, { files }: Imported, isForced: boolean, command: ImportCommand): Promise<void> {
  const there = await readdir(folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return null;
    throw new UsageError(`${folder} cannot be written to: it is no folder, or not yours.`);
  });
  if (there !== null && there.length > 0 && !isForced) {
    throw new UsageError(
      `${folder} is not empty. Name another folder with --out, or overwrite files in it with --force.`,
    );
  }
  const parent = dirname(resolve(folder));
  await mkdir(parent, { recursive: true });
  const beside = await mkdtemp(join(parent, '.signalbox-import-'));
  try {
    for (const { name, text } of files) await writeFile(join(beside, name), text);
    const schema = await readFile(join(command.shippedPolicies, 'policy.schema.json')).catch(() => null);
    if (schema) await writeFile(join(beside, 'policy.schema.json'), schema);
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(beside)) await rename(join(beside, name), join(folder, name));
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}
