import { existsSync } from 'node:fs';
import { revisionOf } from '../../../core/policy/build.ts';
import type { Revision } from '../../../core/text/revision.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { PluginLoader, PluginModule } from '../../../host/plugins/load.ts';
import type { PolicyFile } from '../../../policy/load.ts';
import { placeOfStore, readStore, storeExists } from '../../../store/open.ts';
import { policyName } from './folder-words.ts';
import { gitPlace } from './place-git.ts';
import type { Scratch } from './scratch.ts';
import { isFolder, type PolicySource, type PolicyWorkspace, readPolicy } from './tools.ts';

/**
 * Finds a policy by the operator's name for it: an existing folder, or else a stored revision, or else a commit.
 * @throws UsageError with everything that was tried
 */
export async function findPlace(name: string, command: PolicyWorkspace, scratch: Scratch): Promise<PolicySource> {
  if (/^(?:\.{0,2}\/|\.{1,2}$)/.test(name) || isFolder(name)) return folderPlace(name, command);
  const kept = await revisionPlace(name, command);
  if (typeof kept !== 'string') return kept;
  const past = await gitPlace(name, command, scratch);
  if (typeof past !== 'string') return past;
  // If the name is an existing file, the code that reads folders reports the mistake best.
  if (existsSync(name)) return folderPlace(name, command);
  throw new UsageError(`There is no policy ${name}: no such folder exists, ${kept}, and ${past}.`);
}

export async function folderPlace(folder: string, { judge }: PolicyWorkspace): Promise<PolicySource> {
  return { label: policyName(folder), kind: 'folder', bundle: await readPolicy(folder), folder, loader: judge.loader };
}

/** Finds a policy that was active. Returns the reason if no such policy was found. */
async function revisionPlace(
  name: string,
  { database, folder, judge }: PolicyWorkspace,
): Promise<PolicySource | string> {
  if (!/^[0-9a-f]{6,16}$/.test(revisionOf(name))) return 'it is not a revision (6 to 16 hexadecimal digits)';
  if (!(await storeExists(database))) return `${await placeOfStore(database)} has no tables yet`;
  const revision = await kept(revisionOf(name), database);
  if (revision === null) return `${await placeOfStore(database)} has no revision that begins with it`;
  const label = revisionOf(revision.revision);
  // Only the server writes this text.
  const files: readonly PolicyFile[] = JSON.parse(revision.source);
  const named = files.map((file) => ({ ...file, path: `${label}:${file.path}` }));
  const loader = { ...judge.loader, load: recalling(revision, judge.loader) };
  return { label, kind: 'revision', bundle: { files: named, hash: label }, folder, loader };
}

async function kept(beginning: string, database: string): Promise<Revision | null> {
  using reader = await readStore(database, ['records']);
  const [found, ...builds] = await reader.records.revisions.findByPrefix(beginning);
  if (found === undefined) return null;
  // The builds of one revision have the same files.
  const others = builds.filter((build) => revisionOf(build) !== revisionOf(found));
  if (others.length > 0) {
    throw new UsageError(
      `More than one revision begins with ${beginning}: ${[found, ...others].join(', ')}. Give more digits.`,
    );
  }
  return await reader.records.revisions.find(found);
}

/** A revision stores only hashes of plugin code. Loads the current code of a plugin if it has the stored hash. */
export const recalling = ({ surroundings }: Revision, loader: PluginLoader): PluginLoader['load'] =>
  knownPlugins(surroundings.plugins, loader, () => 'its code is missing or has changed since').load;

/**
 * Loads only plugins whose code has a known hash.
 * @param why returns the reason against loading a plugin; its argument says whether the plugin is known with other code
 */
export function knownPlugins(
  plugins: readonly (readonly [specifier: string, hash: string])[],
  loader: PluginLoader,
  why: (isKnown: boolean) => string,
): PluginLoader {
  const hashes = new Map(plugins);
  const recall: PluginLoader['recall'] = async (specifier, folder, hash) =>
    hashes.get(specifier) === hash ? await loader.recall(specifier, folder, hash) : null;
  const load = async (specifier: string, folder: string): Promise<PluginModule | Error> => {
    const hash = hashes.get(specifier);
    const found = hash === undefined ? null : await recall(specifier, folder, hash);
    return found && hash !== undefined
      ? { ...found, specifier, hash, outside: null }
      : new Error(why(hash !== undefined));
  };
  return {
    ...loader,
    recall,
    load: async (specifiers, folder) =>
      new Map(await Promise.all(specifiers.map(async (one) => [one, await load(one, folder)] as const))),
  };
}
