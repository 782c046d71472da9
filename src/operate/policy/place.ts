import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Revision } from '../../core/revision.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { PluginLoader, PluginModule } from '../../plugin-host/load.ts';
import type { PolicyFile } from '../../policy/load.ts';
import { readStore } from '../../store/open.ts';
import { gitPlace } from './place-git.ts';
import type { PolicySource } from './policy-source.ts';
import type { Scratch } from './scratch.ts';
import { isFolder, type PolicyWorkspace, readPolicy } from './tools.ts';

/**
 * A policy by what an operator calls it: a folder that exists, else a revision that the database keeps, else a commit.
 * Throws UsageError, of one sentence that tells what was tried.
 */
export async function findPlace(said: string, command: PolicyWorkspace, scratch: Scratch): Promise<PolicySource> {
  if (/^(?:\.{0,2}\/|\.{1,2}$)/.test(said) || isFolder(said)) return folderPlace(said, command);
  const kept = await revisionPlace(said, command);
  if (typeof kept !== 'string') return kept;
  const { folder, judge } = command;
  const past = await gitPlace(said, { folder, env: judge.env, loader: judge.loader, scratch });
  if (typeof past !== 'string') return past;
  // Told better by whoever reads folders.
  if (existsSync(said)) return folderPlace(said, command);
  throw new UsageError(`Nothing goes by the name ${said}: there is no such folder, ${kept}, and ${past}.`);
}

export async function folderPlace(folder: string, { judge }: PolicyWorkspace): Promise<PolicySource> {
  return { label: folder, kind: 'folder', bundle: await readPolicy(folder), folder, loader: judge.loader };
}

/** A policy that was in force; a text says why there is none. */
async function revisionPlace(
  said: string,
  { database, folder, judge }: PolicyWorkspace,
): Promise<PolicySource | string> {
  if (!/^[0-9a-f]{6,16}$/.test(said)) return 'it is not a revision (6 to 16 of its hexadecimal digits)';
  if (!existsSync(database)) return `no database in ${resolve(database, '..')} keeps a revision`;
  const revision = await kept(said, database);
  if (revision === null) return `${database} keeps no revision that begins so`;
  const label = revision.revision;
  // Written by the server alone.
  const files: readonly PolicyFile[] = JSON.parse(revision.source);
  const named = files.map((file) => ({ ...file, path: `${label}:${file.path}` }));
  const loader = { ...judge.loader, load: recalling(revision, judge.loader) };
  return { label, kind: 'revision', bundle: { files: named, hash: label }, folder, loader };
}

async function kept(beginning: string, database: string): Promise<Revision | null> {
  const reader = readStore(database, ['records']);
  try {
    const [found, ...others] = await reader.records.revisions.findByPrefix(beginning);
    if (found === undefined) return null;
    if (others.length > 0) {
      throw new UsageError(`More than one revision begins with ${beginning}: ${[found, ...others].join(', ')}.`);
    }
    return await reader.records.revisions.find(found);
  } finally {
    reader.close();
  }
}

/** Of a policy's code only a hash is kept: what is there now counts while it is the same. */
function recalling({ surroundings }: Revision, loader: PluginLoader): PluginLoader['load'] {
  if (surroundings === null) return loader.load;
  const hashes = new Map(surroundings.plugins);
  const recall = async (specifier: string, folder: string): Promise<PluginModule | Error> => {
    const hash = hashes.get(specifier);
    const plugins = hash === undefined ? null : await loader.recall(specifier, folder, hash);
    if (hash === undefined || plugins === null) return new Error('its code is gone, or not what it was then');
    return { specifier, plugins, hash, outside: null };
  };
  return async (specifiers, folder) =>
    new Map(await Promise.all(specifiers.map(async (one) => [one, await recall(one, folder)] as const)));
}
