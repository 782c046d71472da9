import { isObject, objectOf, textOf } from '../../../core/json/object.ts';
import { type KeyGuards, ORDINARY, type Section } from '../../../policy/define/section.ts';
import { LANGUAGE } from '../../../policy/language.ts';
import { discoverOf } from '../../../policy/providers/discover.ts';
import { DESTINATION, PROVIDERS } from '../../../policy/providers/providers.ts';
import { formText, type Outline } from '../../../policy/runtime/diff.ts';

/** A difference between two policies that gives more rights, sends data to other places or removes evidence. */
export interface GuardedChange {
  readonly section: string;
  /** The name is null for a section without named items. */
  readonly name: string | null;
  /** The key is null for the whole item or section. */
  readonly key: string | null;
  readonly why: string;
  /** Who may make the change: an owner over HTTP, or only a person who can edit the policy files. */
  readonly by: 'owner' | 'files';
}

const SECTION_GUARDS = new Map<string, Section['guard']>(LANGUAGE.map(({ name, guard }) => [name, guard]));

const UNKNOWN = 'this version of Signalbox does not know what the setting does';

/**
 * Returns the guarded differences between two policies. Only declarations are compared: texts, files and their order do not matter. Leaving
 * out a provider is not guarded.
 */
export function guardedChanges(before: Outline, after: Outline): GuardedChange[] {
  const sections = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const ofSections = sections.flatMap((section): GuardedChange[] => {
    const [from, to] = [ownOf(before, section), ownOf(after, section)];
    if (isSame(from, to)) return [];
    // An unknown section is guarded.
    const guard = SECTION_GUARDS.get(section) ?? UNKNOWN;
    if (guard === ORDINARY) return [];
    if (typeof guard === 'string') return [{ section, name: null, key: null, why: guard, by: 'owner' }];
    return section === PROVIDERS.name ? ofProviders(from, to, guard) : ofKeys(section, null, from, to, guard);
  });
  return [...ofSections, ...discoveredBy(before, after)];
}

const DISCOVERS = 'it decides which models are served without an entry in the policy';

/** Returns the providers whose models the policy finds, or finds in another way, only after the edit. */
function discoveredBy(before: Outline, after: Outline): GuardedChange[] {
  const known = objectOf(ownOf(before, 'providers'));
  return Object.entries(objectOf(ownOf(after, 'providers'))).flatMap(([name, provider]): GuardedChange[] => {
    const [from, to] = [discoverIn(ownOf(known, name)), discoverIn(provider)];
    const isOn = to !== 'off' && to !== from;
    return isOn ? [{ section: 'providers', name, key: 'discover', why: DISCOVERS, by: 'files' }] : [];
  });
}

function discoverIn(provider: unknown): string {
  const { preset, discover } = objectOf(provider);
  // A value that is not a text is refused with the rest of the policy.
  if (discover !== undefined) return textOf(discover);
  return discoverOf({ preset: textOf(preset) });
}

function ofProviders(from: unknown, to: unknown, guards: KeyGuards): GuardedChange[] {
  if (to !== undefined && !isObject(to))
    return [{ section: 'providers', name: null, key: null, why: DESTINATION, by: 'owner' }];
  return Object.entries(objectOf(to)).flatMap(([name, provider]): GuardedChange[] => {
    const known = ownOf(objectOf(from), name);
    if (known === undefined) return [{ section: 'providers', name, key: null, why: DESTINATION, by: 'owner' }];
    return ofKeys('providers', name, known, provider, guards);
  });
}

function ofKeys(section: string, name: string | null, from: unknown, to: unknown, guards: KeyGuards): GuardedChange[] {
  if (!isMap(from) || !isMap(to))
    return isSame(from, to) ? [] : [{ section, name, key: null, why: UNKNOWN, by: 'owner' }];
  const [mine, theirs] = [objectOf(from), objectOf(to)];
  const keys = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].sort();
  return keys.flatMap((key) => {
    const guard = ownOf(guards, key) ?? UNKNOWN;
    const isOrdinary = guard === ORDINARY || isSame(ownOf(mine, key), ownOf(theirs, key));
    return isOrdinary ? [] : [{ section, name, key, why: guard, by: 'owner' }];
  });
}

/** A missing or empty section declares nothing. */
const isMap = (value: unknown): boolean => value === undefined || value === null || isObject(value);

/** Ignores inherited properties, because a policy may use a name such as `constructor`. */
const ownOf = <Value>(map: Readonly<Record<string, Value>>, key: string): Value | undefined =>
  Object.hasOwn(map, key) ? map[key] : undefined;

const isSame = (one: unknown, other: unknown): boolean => formText(one) === formText(other);
