import type { ContentPart } from '../core/conversation.ts';
import { SignalboxError } from '../core/errors.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { type Members, pathText } from '../core/original.ts';
import type { GatewayPolicy, Provider } from '../core/snapshot.ts';
import { whyNotPublic } from './public-address.ts';

/**
 * Checks a request against the limits of the policy.
 * @throws SignalboxError for the field at fault.
 */
export function screen(request: ModelRequest, limits: GatewayPolicy): void {
  const { turns, tools } = request.conversation;
  checkCount(turns.length, limits.messagesMax, request.names.turns);
  checkCount(tools.length, limits.toolsMax, request.names.tools);
  if (limits.allowPrivateImageUrls) return;
  for (const { parts } of turns) for (const part of parts) if (part.type !== 'tool-call') screenPart(part, request);
}

function checkCount(count: number, most: number, param: string): void {
  if (count <= most) return;
  throw new SignalboxError('out_of_range', `\`${param}\` may have at most ${most} items.`, { param });
}

/** Matches an address with a scheme in the place of media. Some fetchers read one slash as two. */
const ADDRESS = /^\s*(?:https?:|[a-z][a-z0-9+.-]*:\/\/)/i;

/** Members of a part whose texts are never fetched. */
const WORDS: ReadonlySet<string> = new Set(['type', 'text', 'refusal']);

/**
 * Refuses addresses in private networks. Signalbox fetches none, but the server that does may reach more than the
 * caller. The whole part is searched: servers read members that the neutral form does not name.
 */
function screenPart({ type, at, extras }: ContentPart, request: ModelRequest): void {
  if ((type === 'text' || type === 'refusal') && isEmpty(extras)) return;
  const original = request.originalAt(at);
  if (typeof original !== 'object' || original === null) return;
  for (const [name, value] of Object.entries(original)) {
    if (value != null && !WORDS.has(name)) screenAddress(value, `${pathText(at)}.${name.slice(0, NAME_SHOWN)}`);
  }
}

function isEmpty(members: Members): boolean {
  for (const _ in members) return false;
  return true;
}

/** Checks every text in a value. A body nests no deeper than its limits. */
function screenAddress(value: unknown, at: string): void {
  if (typeof value === 'string') {
    const why = ADDRESS.test(value) ? whyNotPublic(value) : null;
    if (why) throw new SignalboxError('invalid_value', `The address ${why}.`, { param: at });
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) screenAddress(inner, `${at}.${name.slice(0, NAME_SHOWN)}`);
  }
}

/** The fields of a request that the gateway does not know. */
export interface Extras {
  readonly passed: Members;
  readonly dropped: readonly string[];
}

/** Shown names of dropped fields; a body can hold tens of thousands. */
const DROPPED_SHOWN = 64;
const NAME_SHOWN = 64;

const NO_EXTRAS: Extras = { passed: {}, dropped: [] };

/** Sorts the fields that the gateway does not know into those that a provider lets through and the rest. */
export function sortExtras({ extras }: ModelRequest, { passthrough }: Provider): Extras {
  const unknown = Object.keys(extras);
  if (unknown.length === 0) return NO_EXTRAS;
  const passes = (name: string) => passthrough.has('*') || passthrough.has(name);
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
