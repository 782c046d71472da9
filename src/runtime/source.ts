import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { PolicyFile } from '../policy/load.ts';

/** A policy folder that cannot be read. The message names the path and what to do. */
export class PolicySourceError extends Error {
  override readonly name = 'PolicySourceError';
}

/** Reads the `.yaml` and `.yml` files of a folder, in the order of their names. Paths are shown as from the working folder. */
export async function readPolicies(folder: string): Promise<PolicyFile[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (cause) {
    throw new PolicySourceError(`The policy folder ${folder} cannot be read; name another with --policies.`, { cause });
  }
  const yaml = names.filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('.')).sort();
  if (yaml.length === 0) throw new PolicySourceError(`The policy folder ${folder} holds no .yaml files.`);
  return Promise.all(
    yaml.map(async (name) => {
      const path = join(folder, name);
      try {
        return { path: relative('', path) || name, text: await readFile(path, 'utf8') };
      } catch (cause) {
        throw new PolicySourceError(`The policy file ${path} cannot be read.`, { cause });
      }
    }),
  );
}

/** Names a content by its hash: equal content, equal name. */
export function hashOf(content: string): string {
  return new Bun.CryptoHasher('sha256').update(content).digest('hex').slice(0, 16);
}
