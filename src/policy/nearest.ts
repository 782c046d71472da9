import { closest, editDistance } from '../core/edit-distance.ts';
import { didYouMean } from '../core/text.ts';

/** Letters of a name that is compared with others: a longer name is hardly a slip of the keyboard. */
const NAME_LENGTH_MAX = 100;

/** The known name most similar to a given one; null if none is close, and for a long name. */
export function nearest(name: string, known: Iterable<string>): string | null {
  if (name.length > NAME_LENGTH_MAX) return null;
  const edits = Math.max(2, Math.floor(name.length / 3));
  return closest(name, known, edits) ?? onlyLonger(name, known) ?? ofSameWords(name, known);
}

/** The only known name that begins or ends with the given one. */
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

/** The best known name that contains all words of the given one, or the reverse: `task_type` and `task`. */
function ofSameWords(name: string, known: Iterable<string>): string | null {
  const contained = [...known]
    .map((candidate) => ({ candidate, shared: sharedWords(name, candidate) }))
    .filter(({ candidate, shared }) => shared > 0 && shared === Math.min(...[name, candidate].map(countWords)))
    .sort((a, b) => b.shared - a.shared);
  const [first, second] = contained;
  return first && first.shared > (second?.shared ?? 0) ? first.candidate : null;
}

const countWords = (name: string): number => nameWords(name).length;

/** Edits from which on names are equally unlike. */
const EDITS_MAX = 24;

/** The known names, most similar first; as they are for a long name. */
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

/** Limit of names in one list. */
export const NAMES_SHOWN = 20;

/** Lists names for people, at most 21: the last one takes no more space than "and 1 more". */
export function listNames(names: Iterable<string>): string {
  const all = [...names];
  const count = all.length === NAMES_SHOWN + 1 ? all.length : NAMES_SHOWN;
  const shown = all.slice(0, count).map((name) => `\`${name}\``);
  return shown.join(', ') + (all.length > count ? ` and ${all.length - count} more` : '') || 'none';
}
