import { didYouMean } from '../../core/text/text.ts';
import { listNames, nearestHint } from '../report/nearest.ts';
import { entryOf, type Tree } from '../yaml/tree.ts';
import { PEER_KEYS } from './peer-key-table.ts';
import { filled, writtenValue } from './written.ts';

/** An unknown key of a map. */
export interface UnknownKey {
  readonly key: string;
  readonly value: Tree | undefined;
  /** The name of the part of the policy that has the map, such as the ID of a model. */
  readonly name: string;
  /** The map that has the unknown key. */
  readonly owner: Tree | undefined;
  /** The keys that the map may have. */
  readonly known: readonly string[];
}

/** The text to write instead of an unknown key. */
export interface KeyRemedy {
  readonly hint: string;
  /** The known key that the unknown key stands for. The known key is then not also reported as missing. */
  readonly meant?: string | undefined;
}

/** Maps that name a plugin whose own keys are below another key. */
const OF_PLUGINS: readonly { readonly plugin: string; readonly below: string }[] = [
  { plugin: 'guard', below: 'settings' },
  { plugin: 'strategy', below: 'options' },
];

/** Returns the hint for a key that resembles no known key, in a map whose plugin may have the key. */
export function pluginKeyHint({ key, value, owner, known }: UnknownKey): string | undefined {
  const found = OF_PLUGINS.find(({ plugin }) => known.includes(plugin) && owner && entryOf(owner, plugin));
  return (
    found &&
    `keys of the plugin are in \`${found.below}\`: write \`${found.below}: { ${key}: ${writtenValue(value)} }\``
  );
}

/** A key that may be one of other tools. */
type PeerKey = Pick<UnknownKey, 'key' | 'known'> & Partial<UnknownKey>;

/** The entries of each word: most keys of a policy are no such word, and each check of a policy looks up many keys. */
const ENTRIES_OF = Map.groupBy(
  PEER_KEYS.flatMap((entry) => entry.words.map((word) => ({ word, ...entry }))),
  ({ word }) => word,
);

/** Returns what to write instead of a key that other tools have; undefined for other keys. */
export function peerKey({ key, known, value, name = '…' }: PeerKey): KeyRemedy | undefined {
  const isKnown = (other: string | undefined): boolean => other === undefined || known.includes(other);
  const found = ENTRIES_OF.get(key)?.find(({ meant, beside }) => isKnown(meant) && isKnown(beside));
  if (found === undefined) return undefined;
  const { meant, hint = didYouMean(`${meant}`) } = found;
  return { hint: filled(hint, { value: writtenValue(value), name }), meant };
}

/**
 * Returns the hint for an unknown key: what to write instead. @param otherwise the hint for a key without a remedy that resembles no known
 * key
 */
export const insteadOf = (key: string, known: readonly string[], remedy?: KeyRemedy, otherwise?: string) => ({
  // The remedy is more helpful than the list of known keys.
  ...(!remedy && { expected: known.length > 0 ? `one of ${listNames(known)}` : 'no keys at all' }),
  hint: remedy?.hint ?? nearestHint(key, known) ?? otherwise,
});

/** Whether a map states a key, or a word with which other tools express it. */
export const isStated = (tree: Tree, key: string): boolean =>
  tree.kind === 'map' &&
  tree.entries.some((entry) => entry.key === key || peerKey({ key: entry.key, known: [key] })?.meant === key);
