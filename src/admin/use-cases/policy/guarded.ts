import { isObject, objectOf, textOf } from '../../../core/json/object.ts';
import { BY_KEY, ORDINARY } from '../../../policy/define/section.ts';
import { LANGUAGE } from '../../../policy/language.ts';
import { discoverOf } from '../../../policy/providers/discover.ts';
import type { ProviderText } from '../../../policy/providers/schema.ts';
import { formText, type Outline } from '../../../policy/runtime/diff.ts';
import type { AlertsText } from '../../../policy/sections/alerts-schema.ts';
import type { GatewayText } from '../../../policy/sections/gateway-schema.ts';

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

/** `ordinary`, or the reason why a difference at this place is guarded. */
type Guard = string;
type Keys<Text> = Readonly<Record<keyof Text, Guard>>;

const TRUST = 'it decides which proxies the gateway trusts to report the address of a caller';
const GUESSES = 'it limits how many keys an attacker can guess';
const DESTINATION = 'it decides where requests and keys are sent';
const UNSEEN = 'it lets fields pass that were neither checked nor priced';

const GATEWAY: Keys<GatewayText> = {
  trusted_proxies: TRUST,
  cors: 'it decides which web pages may call the gateway',
  allow_private_image_urls: 'it lets callers make the gateway fetch addresses in private networks',
  passthrough_tools: UNSEEN,
  failed_auth_per_minute: GUESSES,
  keyless_per_minute: GUESSES,
  body_bytes_max: ORDINARY,
  messages_max: ORDINARY,
  turns_bytes_max: ORDINARY,
  tools_max: ORDINARY,
  commit_after_ms: ORDINARY,
  failed_streams: ORDINARY,
  websockets: ORDINARY,
  socket_bytes_max: ORDINARY,
  alternatives: ORDINARY,
  retries_max: ORDINARY,
  tool_uses_max: ORDINARY,
  drop_tools: ORDINARY,
  drop_unsupported: ORDINARY,
  output_above_maximum: ORDINARY,
  repeats_in_flight: ORDINARY,
  request_fallbacks: ORDINARY,
  forced_tools: ORDINARY,
  time_zone: ORDINARY,
  concurrency_max: ORDINARY,
  bodies_bytes_max: ORDINARY,
  answers_bytes_max: ORDINARY,
  queue_max: ORDINARY,
  queue_ms: ORDINARY,
  reports_per_minute: ORDINARY,
};

const PROVIDER: Keys<ProviderText> = {
  adapter: DESTINATION,
  preset: DESTINATION,
  base_url: DESTINATION,
  base_url_env: DESTINATION,
  api_key_env: DESTINATION,
  api_keys_env: DESTINATION,
  allow_private_network: DESTINATION,
  // Settings of adapters contain paths, versions and headers.
  settings: DESTINATION,
  passthrough: UNSEEN,
  cache_ttl_s: ORDINARY,
  cache_min_tokens: ORDINARY,
  after_abort: ORDINARY,
  pages_max: ORDINARY,
  serve: ORDINARY,
  serves: ORDINARY,
  // `discoveredBy` compares the effect, because the default depends on other keys. Turning discovery off is ordinary.
  discover: ORDINARY,
};

const ALERTS: Keys<(typeof AlertsText)['static']> = {
  webhooks: 'it decides who receives alerts',
  rules: ORDINARY,
};

const SECTION_GUARDS = new Map<string, string>(LANGUAGE.map(({ name, guard }) => [name, guard]));

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
    if (guard !== BY_KEY) return [{ section, name: null, key: null, why: guard, by: 'owner' }];
    return section === 'providers' ? ofProviders(from, to) : ofKeys(section, null, from, to, keysOf(section));
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

const keysOf = (section: string): Readonly<Record<string, Guard>> => (section === 'gateway' ? GATEWAY : ALERTS);

function ofProviders(from: unknown, to: unknown): GuardedChange[] {
  if (to !== undefined && !isObject(to))
    return [{ section: 'providers', name: null, key: null, why: DESTINATION, by: 'owner' }];
  return Object.entries(objectOf(to)).flatMap(([name, provider]): GuardedChange[] => {
    const known = ownOf(objectOf(from), name);
    if (known === undefined) return [{ section: 'providers', name, key: null, why: DESTINATION, by: 'owner' }];
    return ofKeys('providers', name, known, provider, PROVIDER);
  });
}

function ofKeys(
  section: string,
  name: string | null,
  from: unknown,
  to: unknown,
  guards: Readonly<Record<string, Guard>>,
): GuardedChange[] {
  if (!isMap(from) || !isMap(to))
    return isSame(from, to) ? [] : [{ section, name, key: null, why: UNKNOWN, by: 'owner' }];
  const [mine, theirs] = [objectOf(from), objectOf(to)];
  const keys = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].sort();
  return keys.flatMap((key) => {
    const guard = ownOf(guards, key) ?? UNKNOWN;
    const isOrdinary = guard === ORDINARY || isSame(ownOf(mine, key), ownOf(theirs, key));
    return isOrdinary ? [] : [{ section, name, key, why: String(guard), by: 'owner' }];
  });
}

/** A missing or empty section declares nothing. */
const isMap = (value: unknown): boolean => value === undefined || value === null || isObject(value);

/** Ignores inherited properties, because a policy may use a name such as `constructor`. */
const ownOf = (map: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(map, key) ? map[key] : undefined;

const isSame = (one: unknown, other: unknown): boolean => formText(one) === formText(other);
