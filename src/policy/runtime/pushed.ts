import type { PushedPolicy } from '../../store/pushed-policies.ts';
import type { PolicyFile } from '../load.ts';
import { hashOf, type PolicyBundle } from './source.ts';

/** The files of a pushed revision. Its number is part of the hash: the same files can be pushed again. */
export function pushedBundle({ id, source, plugins }: PushedPolicy): PolicyBundle {
  // Written by a push alone.
  const files: readonly PolicyFile[] = JSON.parse(source);
  return { files, hash: hashOf(JSON.stringify([id, files])), pushed: { id, plugins } };
}

/**
 * Compares the code that a pushed revision was judged with to that of this server.
 * @param own the plugins that were loaded here, with a hash of their code
 * @returns a sentence on the first that differs; null where all are the same
 */
export function lackingCode(
  { pushed }: PolicyBundle,
  own: readonly (readonly [specifier: string, hash: string])[],
): string | null {
  const hashes = new Map(own);
  const lacking = pushed?.plugins.find(([specifier, hash]) => hashes.get(specifier) !== hash);
  return lacking
    ? `The code of plugin \`${lacking[0]}\` is missing here, or is not that of the pushed revision.`
    : null;
}
