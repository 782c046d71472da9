import { closest, editDistance } from '../../core/text/edit-distance.ts';
import { didYouMean } from '../../core/text/text.ts';

/** The longest name that is compared with others. A name that is longer than this is hardly a typing mistake. */
const NAME_LENGTH_MAX = 100;

/** Returns the known name most similar to a given name; null if no name is close, or if the name is too long. */
export function nearest(name: string, known: Iterable<string>): string | null {
  if (name.length > NAME_LENGTH_MAX) return null;
  const edits = Math.max(2, Math.floor(name.length / 3));
  return closest(name, known, edits) ?? onlyLonger(name, known) ?? ofSameWords(name, known);
}

/** Returns the known name that begins or ends with the given name, if there is exactly one. */
function onlyLonger(name: string, known: Iterable<string>): string | null {
  if (name.length < 3) return null;
  const longer = [...known].filter((candidate) => candidate.startsWith(name) || candidate.endsWith(name));
  return longer.length === 1 ? (longer[0] ?? null) : null;
}

const nameWords = (name: string): readonly string[] => name.toLowerCase().split(/[^a-z0-9]+/);

function sharedWords(a: string, b: string): number {
  const words = nameWords(b);
  return nameWords(a).filter((word) => word !== '' && words.includes(word)).length;
}

/** Returns the best known name whose words include all words of the given name, or the reverse: `task_type` and `task`. */
function ofSameWords(name: string, known: Iterable<string>): string | null {
  const contained = [...known]
    .map((candidate) => ({ candidate, shared: sharedWords(name, candidate) }))
    .filter(({ candidate, shared }) => shared > 0 && shared === Math.min(...[name, candidate].map(countWords)))
    .sort((a, b) => b.shared - a.shared);
  const [first, second] = contained;
  return first && first.shared > (second?.shared ?? 0) ? first.candidate : null;
}

const countWords = (name: string): number => nameWords(name).length;

/** The number of edits from which all names count as equally different. */
const EDITS_MAX = 24;

/** Returns the known names, most similar first. The order of known names stays for a name that is too long. */
export function byNearness(name: string, known: Iterable<string>): string[] {
  if (name.length > NAME_LENGTH_MAX) return [...known];
  const far = (candidate: string) => editDistance(name.toLowerCase(), candidate.toLowerCase(), EDITS_MAX);
  return [...known]
    .map((candidate) => ({ candidate, shared: sharedWords(name, candidate), distance: far(candidate) }))
    .sort((a, b) => b.shared - a.shared || a.distance - b.distance)
    .map(({ candidate }) => candidate);
}

/** A hint with the nearest known name, if one is close. */
export function nearestHint(name: string, known: Iterable<string>): string | undefined {
  const meant = nearest(name, known);
  return meant === null ? undefined : didYouMean(meant);
}

/** The most names in one list. */
export const NAMES_SHOWN = 20;

/** Lists names for people, at most 21, because one more name takes no more space than "and 1 more". */
export function listNames(names: Iterable<string>): string {
  const all = [...names];
  const count = all.length === NAMES_SHOWN + 1 ? all.length : NAMES_SHOWN;
  const shown = all.slice(0, count).map((name) => `\`${name}\``);
  return shown.join(', ') + (all.length > count ? ` and ${all.length - count} more` : '') || 'none';
}
