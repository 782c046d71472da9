import type { ModelRequest } from '../core/model-request.ts';
import type { Members } from '../core/original.ts';
import type { Provider } from '../core/snapshot.ts';

/** The fields of a request that the gateway does not know, as a provider gets them or not. */
interface SortedExtras {
  readonly passed: Members;
  readonly dropped: readonly string[];
}

/** Shown names of dropped fields; a body can hold tens of thousands. */
const DROPPED_SHOWN = 64;
const NAME_SHOWN = 64;

/** Frozen: plugins get it, and what one wrote into it would reach the requests of others. */
export const NO_EXTRAS: SortedExtras = { passed: Object.freeze({}), dropped: Object.freeze([]) };

const passingOf =
  (passthrough: Provider['passthrough']) =>
  (name: string): boolean =>
    passthrough.has('*') || passthrough.has(name);

/** Whether a provider gets fields of the request that the gateway does not know. */
export const passesExtras = ({ extras }: Pick<ModelRequest, 'extras'>, { passthrough }: Provider): boolean =>
  passthrough.size > 0 && Object.keys(extras).some(passingOf(passthrough));

/** Sorts the fields that the gateway does not know into those that a provider lets through and the rest. */
export function sortExtras({ extras }: ModelRequest, { passthrough }: Pick<Provider, 'passthrough'>): SortedExtras {
  const unknown = Object.keys(extras);
  const passes = passingOf(passthrough);
  return {
    passed: Object.fromEntries(unknown.filter(passes).map((name) => [name, extras[name]])),
    dropped: shown(unknown.filter((name) => !passes(name)).map((name) => name.slice(0, NAME_SHOWN))),
  };
}

/** Returns the first of many names, and the number of the others. */
export function shown(names: readonly string[]): readonly string[] {
  const more = names.length - DROPPED_SHOWN;
  return more > 0 ? [...names.slice(0, DROPPED_SHOWN), `and ${more} more`] : names;
}
