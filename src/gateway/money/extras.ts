import type { Members } from '../../core/json/original.ts';
import type { Provider } from '../../core/policy/snapshot.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';

/** The fields of a request that the gateway does not know: fields that the provider receives, and fields that are dropped. */
interface SortedExtras {
  readonly passed: Members;
  readonly dropped: readonly string[];
}

/** The most names of dropped fields that are shown. The body of a request can have tens of thousands of unknown fields. */
const DROPPED_SHOWN = 64;
const NAME_SHOWN = 64;

/**
 * Plugins receive this object, which is frozen, because a member that a plugin wrote into the object would reach the requests of other
 * callers.
 */
export const NO_EXTRAS: SortedExtras = { passed: Object.freeze({}), dropped: Object.freeze([]) };

const passingOf =
  (passthrough: Provider['passthrough']) =>
  (name: string): boolean =>
    passthrough.has('*') || passthrough.has(name);

/** Whether a provider receives fields of the request that the gateway does not know. */
export const passesExtras = ({ extras }: Pick<ModelRequest, 'extras'>, { passthrough }: Provider): boolean =>
  passthrough.size > 0 && Object.keys(extras).some(passingOf(passthrough));

/** Divides the fields that the gateway does not know into fields that the provider accepts and fields that are dropped. */
export function sortExtras({ extras }: ModelRequest, { passthrough }: Pick<Provider, 'passthrough'>): SortedExtras {
  const unknown = Object.keys(extras);
  const passes = passingOf(passthrough);
  return {
    passed: Object.fromEntries(unknown.filter(passes).map((name) => [name, extras[name]])),
    dropped: shown(unknown.filter((name) => !passes(name)).map((name) => name.slice(0, NAME_SHOWN))),
  };
}

/** Returns the first of many names, and the number of the remaining names. */
export function shown(names: readonly string[]): readonly string[] {
  const more = names.length - DROPPED_SHOWN;
  return more > 0 ? [...names.slice(0, DROPPED_SHOWN), moreText(more)] : names;
}

const moreText = (count: number): string => `and ${count} more`;
const MORE = /^and (\d+) more$/;

/** The longest value of the header that names dropped fields, in bytes. */
const HEADER_MAX = 1_024;

/**
 * Writes dropped fields as the value of a header: percent-encoded, separated by commas, at most 1,024 bytes long. Names that do not fit are
 * counted.
 * @param dropped as in `platform.dropped`: names, and the number of further names if there are too many
 */
export function droppedText(dropped: readonly string[]): string {
  const names = dropped.filter((name) => !MORE.test(name)).map(headerText);
  const all = dropped.reduce((sum, name) => sum + Number(MORE.exec(name)?.[1] ?? 1), 0);
  let shownCount = 0;
  for (let length = 0; shownCount < names.length; shownCount++) {
    length += names[shownCount]!.length + SEPARATOR.length;
    const rest = all - shownCount - 1;
    if (length - SEPARATOR.length + (rest > 0 ? (SEPARATOR + moreText(rest)).length : 0) > HEADER_MAX) break;
  }
  const rest = all - shownCount;
  return [...names.slice(0, shownCount), ...(rest > 0 ? [moreText(rest)] : [])].join(SEPARATOR);
}

const SEPARATOR = ', ';

/** Encodes characters that a header cannot contain or that look like a separator. */
const headerText = (name: string): string => name.toWellFormed().replace(/[^!-~]|[%,]/gu, encodeURIComponent);
