import * as fs from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Plugin } from '../contract/kinds.ts';
import { commandName } from '../core/command-name.ts';
import { shellWord } from '../core/text/shell-word.ts';
import { UsageError } from '../core/usage-error.ts';
import { isPolicyFile } from '../policy/runtime/source.ts';
import { copyWhole, forgetPolicies, SHIPPED_POLICIES } from '../server/shipped-policies.ts';
import { reasonOf } from '../store/reason.ts';
import { parseArguments } from './arguments.ts';
import type { CommandContext, CommandDefinition } from './command.ts';
import { pathText } from './text.ts';

const VARIABLES = '.env.example';

/** `signalbox init` */
export const init: CommandDefinition = {
  usesData: false,
  use: 'before you edit the policy of a binary or a package.',
  example: 'init ~/signalbox',
  usage: '[FOLDER]',
  summary: 'Write the shipped policy into a folder, so that you can edit it.',
  details: `Writes policies/ and .env.example, which lists the variables of all providers, into FOLDER. Default: this
folder. Files that exist are not changed.
Exit code: 0 if both are there, else 1.`,
  run: runInit,
};

/**
 * Writes the shipped policy and the variables of all providers into a folder.
 * @throws UsageError if the folder cannot be written
 */
async function runInit(args: readonly string[], { line, shipped }: CommandContext): Promise<string> {
  const source = SHIPPED_POLICIES;
  const used = () => line.policiesFor('forServe');
  const [given = '.', ...more] = parseArguments(args, {}).positionals;
  if (more.length > 0) throw new UsageError(`init needs one folder, not ${more.length + 1}.`);
  const folder = resolve(given);
  const policies = join(folder, basename(source));
  const before = resolve(used());
  const example = join(folder, VARIABLES);
  const lines = [written(policies, (target) => copyWhole(source, target))];
  requirePolicy(policies);
  lines.push(written(example, writeVariables(await shipped())));
  const isFound = resolve(used()) === policies;
  if (isFound && before !== policies && before !== source) {
    forgetPolicies(line.data, before);
    lines.push(`The server used ${before} until now. Copy your edits from there.\n`);
  }
  const variables = join(folder, '.env');
  const serve = `${commandName()} serve${isFound ? '' : ` --policies ${typed(policies)}`}`;
  return `${lines.join('')}
Next:
  1. Copy ${typed(example)} to ${typed(variables)}, set the keys of your providers in it, and load it: set -a; . ${sourced(variables)}; set +a
  2. ${serve}
  3. Edit ${pathText(policies)}. The server applies each edit within a second.
`;
}

/** Writes a path as a user would type it in a shell. */
const typed = (path: string): string => shellWord(pathText(path));

/** Writes the path of a file that a shell reads. A shell looks for a name without a folder among the programs. */
const sourced = (path: string): string => shellWord(isAbsolute(pathText(path)) ? path : `./${pathText(path)}`);

/** @throws UsageError if the folder of the policy existed and contains something else */
function requirePolicy(folder: string): void {
  if (fs.statSync(folder).isDirectory() && fs.readdirSync(folder).some(isPolicyFile)) return;
  throw new UsageError(
    `${folder} exists and has no policy, which is a folder with .yaml files. Name another folder: ${commandName()} init FOLDER.`,
  );
}

/** Writes a file or folder unless it exists, and says which of both happened. */
function written(path: string, write: (path: string) => void): string {
  if (isThere(path)) return `${path} exists and was not changed.\n`;
  try {
    fs.mkdirSync(dirname(path), { recursive: true });
    write(path);
  } catch (cause) {
    if (isThere(path)) return `${path} exists and was not changed.\n`;
    throw new UsageError(
      `${path} cannot be written: ${reasonOf(cause)}. Name another folder: ${commandName()} init FOLDER.`,
    );
  }
  return `${path} was written.\n`;
}

/** Returns whether there is a file, or a folder that is not empty. A folder that cannot be read counts as not empty. */
function isThere(path: string): boolean {
  try {
    return !fs.statSync(path).isDirectory() || fs.readdirSync(path).length > 0;
  } catch {
    return fs.existsSync(path);
  }
}

/** Writes the variables of the services that the shipped adapters know, without values. */
const writeVariables = (plugins: readonly Plugin[]) => (path: string) => {
  const services = plugins.flatMap((plugin) => (plugin.kind === 'provider' ? Object.values(plugin.presets ?? {}) : []));
  const [hosted, own] = [true, false].map((hasKey) =>
    services
      .filter(({ apiKeyEnv }) => (apiKeyEnv !== undefined) === hasKey)
      .flatMap(({ apiKeyEnv, baseUrlEnv }) => [apiKeyEnv, baseUrlEnv].filter((name) => name !== undefined)),
  );
  const unset = (names: readonly string[] = []) => [...new Set(names)].map((name) => `#${name}=`);
  const lines = [
    '# A provider serves when its key is set.',
    ...unset(hosted),
    '# A model server of your own serves when its address is set, such as http://127.0.0.1:11434 for Ollama.',
    ...unset(own),
  ];
  fs.writeFileSync(path, `${lines.join('\n')}\n`, { flag: 'wx', mode: 0o600 });
};
