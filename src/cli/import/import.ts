import { createReadStream, readFileSync, realpathSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { commandName } from '../../core/command-name.ts';
import { isObject, parseJson } from '../../core/json/object.ts';
import { visible } from '../../core/text/visible.ts';
import { UsageError } from '../../core/usage-error.ts';
import { policySchema, schemaText } from '../../policy/json-schema.ts';
import { loadFacts } from '../../policy/models/facts.ts';
import type { PolicyText } from '../../policy/yaml/emit.ts';
import { SHIPPED_POLICIES } from '../../server/shipped-policies.ts';
import {
  type ImportResult,
  type ImportSources,
  importLitellm,
  NotIncluded,
  NotYaml,
} from '../../tools/importers/litellm/litellm.ts';
import { parseArguments, SWITCH, TEXT } from '../arguments.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { day } from '../text.ts';
import { placeText, reportJson, reportText } from './report.ts';

const FLAGS = { out: TEXT, prices: TEXT, json: SWITCH, force: SWITCH };

const CONFIGURATION_BYTES_MAX = 4 * 1024 * 1024;
/** LiteLLM's own price map has less than 2 MiB. */
const PRICES_BYTES_MAX = 64 * 1024 * 1024;

/** `signalbox import litellm`. Throws UsageError, or an Error of one sentence. */
export const importCommand: CommandDefinition = {
  usesData: false,
  use: 'to move from a LiteLLM proxy to Signalbox.',
  example: 'import litellm config.yaml --out ./policies',
  usage: 'FILE|- [--out DIR] [--prices FILE] [--force] [--json]',
  summary: 'Convert a LiteLLM proxy configuration into a policy, with a report.',
  details: `Writes the policy to the new folder ./policies-from-litellm, or to --out. --prices is LiteLLM's file
model_prices_and_context_window.json. The command copies no secrets.
Exit code: 0, 2 if the configuration has mistakes (the rest is imported), 1 if nothing can be imported.`,
  run: runImport,
};

async function runImport(args: readonly string[], { now, shipped }: CommandContext): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, FLAGS);
  const { out = 'policies-from-litellm' } = values;
  const [file, ...rest] = positionals;
  if (file === undefined || rest.length > 0) {
    throw new UsageError(
      `import litellm needs one file, or - for the standard input. See ${commandName()} help import.`,
    );
  }
  const name = file === '-' ? 'stdin' : basename(file);
  const imported = read(file, await readUpTo(file, CONFIGURATION_BYTES_MAX), {
    name,
    catalog: await Promise.all(
      ['models.yaml', 'embeddings.yaml'].map((file) => readFile(join(SHIPPED_POLICIES, file), 'utf8')),
    ),
    facts: await loadFacts(),
    priceMap: await priceMapOf(values.prices),
    today: day(now()),
    include: includeFrom(file),
  });
  if (imported.files.length === 0) throw new UsageError(nothingIn(file, imported));
  const written = new Set(imported.files.map((one) => one.name));
  const others = (await filesIn(out)).filter((one) => /\.ya?ml$/.test(one) && !written.has(one));
  const code = imported.report.problems.length > 0 ? 2 : 0;
  const outcome = { file, folder: out, imported, others };
  const beside = [
    { name: 'policy.schema.json', text: schemaText(policySchema(await shipped())) },
    { name: REPORT, text: reportText(outcome) },
  ];
  await writeAll(out, [...imported.files, ...beside], values.force);
  return { text: values.json ? reportJson(outcome) : reportText(outcome), code };
}

function read(file: string, text: string, sources: ImportSources): ImportResult {
  try {
    return importLitellm(text, sources);
  } catch (cause) {
    if (!(cause instanceof NotYaml)) throw cause;
    const { line, column } = cause.where;
    throw new UsageError(`${file}:${line}:${column}: ${cause.message}.`);
  }
}

/**
 * Reads included files only inside the folder of the configuration: a configuration from another person must not make the importer read
 * other files.
 */
function includeFrom(file: string): ImportSources['include'] {
  return (name) => {
    if (file === '-')
      throw new NotIncluded('the standard input has no folder; name the file of the configuration instead of -');
    try {
      const folder = realpathSync(dirname(file));
      const path = realpathSync(resolve(folder, name));
      if (!path.startsWith(join(folder, sep))) {
        throw new NotIncluded('it is outside the folder of the configuration; copy the file into that folder');
      }
      const found = statSync(path);
      if (!found.isFile()) throw new NotIncluded('it is not a file');
      if (found.size > CONFIGURATION_BYTES_MAX)
        throw new NotIncluded(`it has more than ${CONFIGURATION_BYTES_MAX} bytes`);
      return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
    } catch (cause) {
      if (cause instanceof NotIncluded) throw cause;
      throw new NotIncluded(
        cause instanceof TypeError ? 'it is not UTF-8 text' : 'the file does not exist or cannot be read',
      );
    }
  };
}

async function readUpTo(file: string, bytesMax: number): Promise<string> {
  const bytes = await bytesOf(file, bytesMax);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${file} is not UTF-8 text.`);
  }
}

/** Reads in pieces, because a pipe or device has no size and may have no end. */
async function bytesOf(file: string, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    const stream: AsyncIterable<Uint8Array> = file === '-' ? Bun.stdin.stream() : createReadStream(file);
    for await (const piece of stream) {
      pieces.push(piece);
      size += piece.length;
      if (size > bytesMax) break;
    }
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
  if (size > bytesMax) throw new UsageError(`${file} has more than ${bytesMax} bytes, the most that import reads.`);
  return Buffer.concat(pieces);
}

async function priceMapOf(file: string | undefined): Promise<ImportSources['priceMap']> {
  if (file === undefined) return new Map();
  const parsed = parseJson(await readUpTo(file, PRICES_BYTES_MAX));
  if (!isObject(parsed))
    throw new UsageError(
      `${file} is not LiteLLM's price map. It must be a JSON object with the names of models as keys.`,
    );
  return new Map(Object.entries(parsed).flatMap(([name, entry]) => (isObject(entry) ? [[name, entry] as const] : [])));
}

/** Explains why there is nothing to write: the problems, or else the reason for each entry. */
function nothingIn(file: string, { report }: ImportResult): string {
  const places = report.problems.map((one) => `  ${placeText(one)} ${one.path}: ${one.message}`);
  const reasons = report.skipped.map(({ name, why }) => `  ${name ?? 'an entry'}: ${why}`);
  const found = (places.length > 0 ? places : reasons).map(visible);
  const why = found.length > 0 ? found.join('\n') : '  it has no model_list with entries';
  return `${file} has no model that Signalbox can serve:\n${why}`;
}

/** The report, next to the files of the policy. */
const REPORT = 'import-report.txt';

/** Returns the names in a folder; none if it does not exist. @throws UsageError if it cannot be read */
const filesIn = (folder: string): Promise<readonly string[]> =>
  readdir(folder).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return [];
    throw new UsageError(`${folder} cannot be written to: it is not a folder, or belongs to another user.`);
  });

/** Writes all files or none: first into a temporary folder, then into the final folder. */
async function writeAll(folder: string, files: readonly PolicyText[], isForced: boolean): Promise<void> {
  if ((await filesIn(folder)).length > 0 && !isForced) {
    throw new UsageError(
      `${folder} is not empty. Name another folder with --out, or overwrite files in it with --force.`,
    );
  }
  const parent = dirname(resolve(folder));
  await mkdir(parent, { recursive: true });
  const beside = await mkdtemp(join(parent, '.signalbox-import-'));
  try {
    for (const { name, text } of files) await writeFile(join(beside, name), text);
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(beside)) await rename(join(beside, name), join(folder, name));
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}
