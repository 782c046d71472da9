import type { PushedPolicy } from '../../store/pushed-policies.ts';
import type { PolicyFile } from '../load.ts';
import { hashOf, type PolicyBundle } from './source.ts';

/** Returns the files of a pushed revision. The hash includes the revision's number, because the same files can be pushed again. */
export function pushedBundle({ id, source, plugins }: PushedPolicy): PolicyBundle {
  // Only a push writes the text of a pushed policy, so the text need not be validated.
  const files: readonly PolicyFile[] = JSON.parse(source);
  return { files, hash: hashOf(JSON.stringify([id, files])), pushed: { id, plugins } };
}

/**
 * Compares the plugin code with which a pushed revision was checked to the code on this server.
 * @param own the plugins that were loaded on this server, with a hash of their code
 * @returns a sentence about the first difference; null if the code is the same
 */
export function lackingCode(
  { pushed }: PolicyBundle,
  own: readonly (readonly [specifier: string, hash: string])[],
): string | null {
  const hashes = new Map(own);
  const lacking = pushed?.plugins.find(([specifier, hash]) => hashes.get(specifier) !== hash);
  return lacking
    ? `The code of plugin \`${lacking[0]}\` is missing on this server, or differs from the code with which the revision was pushed.`
    : null;
}
