import { createHash } from 'node:crypto';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { objectOf, parseJson, textOf } from '../../../../core/json/object.ts';
import { messageOf } from '../../../../core/thrown.ts';
import { UsageError } from '../../../../core/usage-error.ts';
import type { Environment } from '../../../../policy/load.ts';
import { GitError, git } from '../../policy/place-git.ts';
import { isGenaiPrices, literalIn, readGenaiPrices } from './genai-prices.ts';
import { isLiteLlm, readLiteLlm } from './litellm.ts';
import { FOLDERS, readModelsDev, type TomlFile } from './models-dev.ts';
import type { Witness } from './witness.ts';

const FORMS =
  'It must be a clone of models.dev, the package @pydantic/genai-prices, or model_prices_and_context_window_backup.json from a wheel of LiteLLM';
/** A path with the day of its list: `prices.json=2026-11-20`. */
const DATED = /^(.+)=(\d{4}-\d{2}-\d{2})$/;

/**
 * Reads a witness from local files. Runs no code of the files.
 * @param said a path, or a path with the day of the list, such as `prices.json=2026-11-20`
 * @param today such as `2026-11-30`
 * @throws UsageError
 */
export async function readWitness(said: string, env: Environment, today: string): Promise<Witness> {
  const [, path = said, day = null] = DATED.exec(said) ?? [];
  if (day !== null && (Number.isNaN(Date.parse(day)) || day > today))
    throw new UsageError(`--from ${said}: ${day} is not a day until today, ${today}.`);
  const found = await stat(path).catch(() => null);
  // The prices of a list are those of its day.
  const from = day ?? today;
  if (!found) throw new UsageError(`--from ${path} does not exist.`);
  const witness = found.isDirectory() ? await readFolder(path, env, from) : await readJsonFile(path, from);
  const asOf = day ?? witness.asOf;
  if (asOf === null)
    throw new UsageError(
      `--from ${path} does not state its day. Add the day on which this version was published: --from ${path}=2026-11-20.`,
    );
  const models = [...witness.models.values()].reduce((sum, { size }) => sum + size, 0);
  if (models === 0) throw new UsageError(`--from ${path} has no model that Signalbox can read. ${FORMS}.`);
  return { ...witness, asOf };
}

type Undated = Omit<Witness, 'asOf'> & { readonly asOf: string | null };

async function readFolder(folder: string, env: Environment, day: string): Promise<Undated> {
  const names = new Set(await readdir(folder));
  if (names.has('providers')) return readClone(folder, env);
  if (!names.has('package.json')) throw new UsageError(`--from ${folder} is not a list of models. ${FORMS}.`);
  const { name, version } = objectOf(parseJson(await readFile(join(folder, 'package.json'), 'utf8')));
  const file = join(folder, 'dist', 'index.js');
  const content = name === '@pydantic/genai-prices' ? literalIn(await textAt(file)) : undefined;
  if (!isGenaiPrices(content)) throw new UsageError(`--from ${folder} has no list of prices in ${file}. ${FORMS}.`);
  return { ...GENAI, revision: textOf(version), asOf: null, ...readGenaiPrices(content, day) };
}

const GENAI = { name: 'pydantic/genai-prices', copyright: 'Copyright (c) Pydantic Services Inc. 2025 to present' };
const LITELLM = { name: 'BerriAI/litellm', copyright: 'Copyright (c) 2023 Berri AI' };
const MODELS_DEV = { name: 'anomalyco/models.dev', copyright: 'Copyright (c) 2025 models.dev' };

async function readClone(folder: string, env: Environment): Promise<Undated> {
  const paths = (await Promise.all(FOLDERS.map((one) => tomlIn(folder, one)))).flat();
  const files: TomlFile[] = [];
  for (const path of paths) {
    const text = await textAt(join(folder, path));
    try {
      files.push({ path, data: Bun.TOML.parse(text) });
    } catch (cause) {
      throw new UsageError(`--from ${folder}: ${path} is not TOML: ${messageOf(cause)}.`);
    }
  }
  const { revision, asOf } = await commitOf(folder, env);
  try {
    return { ...MODELS_DEV, revision, asOf, ...readModelsDev(files) };
  } catch (cause) {
    throw new UsageError(`--from ${folder}: ${messageOf(cause)}.`);
  }
}

async function tomlIn(folder: string, inner: string): Promise<string[]> {
  const names = await readdir(join(folder, inner), { recursive: true }).catch((): string[] => []);
  return names.filter((name) => name.endsWith('.toml')).map((name) => inner + name);
}

/** Returns the commit of a clone and its day in UTC; no commit and no day for a copy without git, also inside of another clone. */
async function commitOf(folder: string, env: Environment) {
  try {
    const top = (await git(['rev-parse', '--show-toplevel'], folder, env)).trim();
    if ((await realpath(top)) !== (await realpath(folder))) return { revision: 'copy', asOf: null };
    const [commit = '', time = ''] = (await git(['log', '-1', '--format=%H %ct'], folder, env)).trim().split(' ');
    return { revision: commit, asOf: new Date(Number(time) * 1_000).toISOString().slice(0, 10) };
  } catch (cause) {
    if (!(cause instanceof GitError)) throw cause;
    return { revision: 'copy', asOf: null };
  }
}

async function readJsonFile(file: string, day: string): Promise<Undated> {
  const text = await textAt(file);
  const content = parseJson(text);
  const revision = createHash('sha256').update(text).digest('hex');
  if (isLiteLlm(content)) return { ...LITELLM, revision, asOf: null, ...readLiteLlm(content) };
  if (isGenaiPrices(content)) return { ...GENAI, revision, asOf: null, ...readGenaiPrices(content, day) };
  throw new UsageError(`--from ${file} is not a list of models. ${FORMS}.`);
}

async function textAt(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
}
