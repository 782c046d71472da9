import { refuse, SignalboxError } from '../../core/errors.ts';
import { ListTotal } from '../../core/json/list-memory.ts';
import { isEmpty } from '../../core/json/object.ts';
import { pathText } from '../../core/json/original.ts';
import { SharedValues } from '../../core/json/shared-values.ts';
import { parseAddress } from '../../core/net/address.ts';
import { isPublic, literalAddress } from '../../core/net/address-class.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { GatewayPolicy, PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { ContentPart, Turn } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { targetOf } from '../../routing/model-name.ts';
import type { PreparingStep } from './steps.ts';

/**
 * Checks a request against the limits of the policy.
 * @throws SignalboxError that names the faulty field
 */
export function checkRequest(request: ModelRequest, limits: GatewayPolicy): void {
  if (request.conversation.turns.length > limits.messagesMax) throw tooMany(request.names.turns, limits.messagesMax);
  if (toolsOf(request) > limits.toolsMax) throw tooMany(request.names.tools, limits.toolsMax);
  if (limits.allowPrivateImageUrls) return;
  publicLists.of(request.conversation.turns, (_, turn) => {
    if (publicTurns.get(turn)) return null;
    for (const part of turn.parts) if (part.type !== 'tool-call') checkPart(part, request);
    publicTurns.set(turn, true);
    return null;
  });
}

/** Lists of turns, and shared turns, without addresses in private networks. */
const publicLists = new ListTotal<Turn, null>(() => null);
const publicTurns = new SharedValues<Turn, true>();

/** The last preparing step: it checks the request as models may receive it against the limits of the policy. */
export const checkLimits: PreparingStep = ({ request, runtime, context }) => {
  context.step('profile');
  checkRequest(request, runtime.snapshot.gateway);
};

/** Counts the tools of a request, including tools that are not allowed and tools that are defined in its messages. */
function toolsOf({ conversation, original, names }: ModelRequest): number {
  const { tools, nativeTools, leftOutTools } = conversation;
  const native = nativeTools?.filter(({ at }) => at.length > 1).length ?? 0;
  const stated = original.body[names.tools];
  return Math.max(tools.length + native + (leftOutTools?.length ?? 0), Array.isArray(stated) ? stated.length : 0);
}

/**
 * Checks a request for which no decision is made: its limits, and whether the caller may use the model that it names.
 * @throws SignalboxError that names the faulty field
 */
export function checkUndecided(request: ModelRequest, caller: Caller, snapshot: PolicySnapshot): void {
  checkRequest(request, snapshot.gateway);
  targetOf(request.model, caller, snapshot, request.routing.fallbacks);
}

const tooMany = (param: string, most: number): SignalboxError =>
  new SignalboxError('out_of_range', `\`${param}\` may have at most ${most} items.`, { param });

/** The most characters of a field's name that an error shows. */
const NAME_SHOWN = 64;

/**
 * Matches an address with a scheme where media is expected. A single slash after `https:` matches, too, because some fetchers read a single
 * slash as two slashes.
 */
const ADDRESS = /^\s*(?:https?:|[a-z][a-z0-9+.-]*:\/\/)/i;

/** Members of a content part whose texts are never fetched. */
const WORDS: ReadonlySet<string> = new Set(['type', 'text', 'refusal']);

/**
 * Refuses addresses in private networks. Signalbox does not fetch these addresses, but the server that fetches them may reach more networks
 * than the caller. The whole part is checked, because model servers read members that the neutral form does not have.
 */
function checkPart({ type, at, extras }: ContentPart, request: ModelRequest): void {
  if ((type === 'text' || type === 'refusal') && isEmpty(extras)) return;
  const original = request.originalAt(at);
  if (typeof original !== 'object' || original === null) return;
  for (const [name, value] of Object.entries(original)) {
    if (value != null && !WORDS.has(name)) checkAddresses(value, `${pathText(at)}.${name.slice(0, NAME_SHOWN)}`);
  }
}

/** Checks every text in a value. The recursion is bounded, because the nesting of a body is limited. */
function checkAddresses(value: unknown, at: string): void {
  if (typeof value === 'string') {
    const why = ADDRESS.test(value) ? whyNotPublic(value) : null;
    if (why) refuse(at, `The address ${why}.`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) checkAddresses(inner, `${at}.${name.slice(0, NAME_SHOWN)}`);
  }
}

/** The maximum length of an address, which is longer than any signed address. */
const LENGTH_MAX = 8_192;

/** Names of private networks. Names without a dot are also treated as private. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|private|svc|home\.arpa)$/;
/** Matches names that contain an IPv4 address and resolve to it: `10.0.0.1.nip.io`, `10-0-0-1.sslip.io`. */
const ADDRESS_IN_NAME = /(?<!\d)(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?!\d)/;

function isPublicName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  if (!name.includes('.') || PRIVATE_NAME.test(name)) return false;
  const inside = ADDRESS_IN_NAME.exec(name);
  const address = inside && parseAddress(inside.slice(1, 5).join('.'));
  return !address || isPublic(address);
}

/**
 * Checks an http or https address that a provider is to fetch. An ambiguous address is refused, because the fetcher may read it
 * differently. Names are not resolved.
 * @returns what is wrong, as the end of a sentence; null for a public address
 */
export function whyNotPublic(address: string): string | null {
  if (address.length > LENGTH_MAX) return `may have at most ${LENGTH_MAX} characters`;
  // Backslashes and invisible characters are refused, because some fetchers read a backslash as a slash, and some fetchers skip invisible
  // characters.
  if (/[\s\\\p{Cc}]/u.test(address)) return 'must not contain white space, control characters or backslashes';
  const written = /^https?:\/\/([^/?#]+)/i.exec(address)?.[1];
  if (written === undefined || !URL.canParse(address)) return 'must be an http or https address';
  if (written.includes('@')) return 'must not contain a user name or a password';
  const { hostname } = new URL(address);
  const host = written.replace(/:\d*$/, '').toLowerCase();
  const bare = literalAddress(hostname);
  // `0x7f.1`, `127.1`, `2130706433` and `0177.0.0.1` are also IPv4 addresses, and fetchers disagree on which address they mean.
  if (bare && !hostname.startsWith('[') && host !== hostname) return 'must have an IPv4 address written as 192.0.2.1';
  if (host.includes('%')) return 'must not have a % in its host';
  const isReachable = bare ? isPublic(bare) : isPublicName(hostname);
  return isReachable ? null : 'must not point to a private network';
}
