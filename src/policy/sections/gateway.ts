import { type AddressRange, addressText, isWithin, parseRange, startOf } from '../../core/net/address.ts';
import { webOriginOf } from '../../core/net/web-origin.ts';
import type { GatewayPolicy } from '../../core/policy/snapshot.ts';
import { isTimeZone } from '../../core/time/zoned-time.ts';
import { sectionSubject } from '../check/section-checks.ts';
import type { StartSettings } from '../define/installation.ts';
import { defineSection, type KeyGuards, ORDINARY, settingsOf, UNCHECKED } from '../define/section.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { checkTimeZone } from '../report/time-zone.ts';
import { camelKeys } from '../schema/camel-keys.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { GatewayText } from './gateway-schema.ts';

const GUESSES = 'it limits how many keys an attacker can guess';

const GUARDS: KeyGuards<GatewayText> = {
  trusted_proxies: 'it decides which proxies the gateway trusts to report the address of a caller',
  cors: 'it decides which web pages may call the gateway',
  allow_private_image_urls: 'it lets callers make the gateway fetch addresses in private networks',
  passthrough_tools: UNCHECKED,
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

/** The section `gateway`. */
export const GATEWAY = defineSection({
  name: 'gateway',
  text: GatewayText,
  guard: GUARDS,
  page: ['Run', '../spend/rate-limits.md'],
  draft(context) {
    const subject = sectionSubject('gateway', context);
    const { tree } = subject;
    return {
      settings: readSettings(settingsOf(GatewayText, subject, context), tree, context.report),
      timeZone: timeZoneIn(tree),
      /** Location of `socket_bytes_max`, or of its nearest parent in the file. */
      socketBytesPlace: placeAt(tree, 'socket_bytes_max'),
    };
  },
  *compile({ settings, socketBytesPlace }, { installation: { started }, report }): Generator<undefined, GatewayPolicy> {
    yield;
    if (started) reviewStart(settings, started, socketBytesPlace, report);
    return settings;
  },
});

/** Returns the default time zone of budgets; the usual one if the stated one is wrong. */
function timeZoneIn(tree: Tree): string {
  const stated = valueAt(tree, 'time_zone');
  const { default: usual } = GatewayText.properties.time_zone;
  return stated?.kind === 'scalar' && isTimeZone(stated.source) ? stated.source : usual;
}

/** Warns about a changed setting that applies only after a restart. */
function reviewStart(
  { socketBytesMax: wanted }: GatewayPolicy,
  { socketBytesMax }: StartSettings,
  place: SourceSpan,
  report: Report,
): void {
  if (wanted === socketBytesMax) return;
  const message = `\`gateway.socket_bytes_max\` is ${wanted}, but the running server uses ${socketBytesMax}, the value from its start`;
  report.add('needs-restart', place, message, { hint: 'restart the server to apply the change' });
}

function readSettings(text: GatewayText, tree: Tree, report: Report): GatewayPolicy {
  checkTimeZone(text.time_zone, placeAt(tree, 'time_zone'), report);
  const { cors, trusted_proxies, passthrough_tools, drop_tools, drop_unsupported, ...figures } = text;
  return {
    ...camelKeys(figures),
    socketBytesMax: readSocketBytes(text, tree, report),
    passthroughTools: new Set(passthrough_tools),
    dropTools: new Set(drop_tools),
    dropUnsupported: new Set(drop_unsupported),
    corsOrigins: readOrigins(text, tree, report),
    trustedProxies: readProxies(trusted_proxies, tree, report),
  };
}

/** Reads the addresses of trusted proxies. @param tree the section `gateway` */
const readProxies = (stated: readonly string[], tree: Tree, report: Report): AddressRange[] =>
  stated.flatMap((written, at) => rangeAt(written, placeAt(tree, 'trusted_proxies', at), report) ?? []);

/**
 * Reads the size limit of WebSocket messages, in bytes. The size limit may not exceed `body_bytes_max`, because a body of that size would
 * be refused.
 * @param tree the section `gateway`
 */
function readSocketBytes(text: GatewayText, tree: Tree, report: Report): number {
  const { socket_bytes_max: bytes, body_bytes_max: most } = text;
  if (bytes > most && valueAt(tree, 'socket_bytes_max')) {
    const message = `\`gateway.socket_bytes_max\` is ${bytes}, which is above \`body_bytes_max\`, ${most}`;
    report.add('out-of-range', placeAt(tree, 'socket_bytes_max'), message, {
      expected: `at most ${most}, or a larger \`body_bytes_max\``,
    });
  }
  return Math.min(bytes, most);
}

const ANY_IPV4: AddressRange = { base: [0, 0, 0, 0, 0, 0xffff, 0, 0], bits: 96 };

function rangeAt(written: string, place: SourceSpan, report: Report): AddressRange | null {
  const range = parseRange(written);
  if (!range) {
    report.add('bad-form', place, `\`${written}\` is not a range of IP addresses`, {
      expected: 'a range such as `10.0.0.0/8` or `fd00::/8`, or one address',
    });
    return null;
  }
  const base = startOf(range);
  if (!isWithin(range.base, { base, bits: 128 })) {
    const prefix = written.slice(written.indexOf('/'));
    report.add('bad-form', place, `\`${written}\` has bits beyond its first ${prefix.slice(1)}`, {
      hint: `write \`${addressText(base)}${prefix}\`, or the address alone`,
    });
  }
  if (isWithin(ANY_IPV4.base, range) && range.bits <= ANY_IPV4.bits) {
    const message = `\`${written}\` covers all addresses, so Signalbox would trust any address that a caller states`;
    const hint = 'list only the address ranges of your proxies; otherwise callers can evade limits per address';
    report.add('trusts-everybody', place, message, { hint });
  }
  return range;
}

/** An origin with a scheme other than http or https, such as the origin of a browser extension. */
const OF_APPLICATION = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+$/;

/** Reads the origins whose web pages may read answers. @param tree the section `gateway` */
function readOrigins({ cors }: GatewayText, tree: Tree, report: Report): ReadonlySet<string> {
  const origins = cors?.origins ?? [];
  origins.forEach((written, at) => {
    const isOrigin = !written.includes('*') && webOriginOf(written) === written;
    if (isOrigin || OF_APPLICATION.test(written)) return;
    report.add('bad-form', placeAt(tree, 'cors', 'origins', at), `\`${written}\` is not an origin`, {
      expected: 'scheme, host and port as browsers send them, such as `https://app.example` or `http://localhost:5173`',
      hint: hintFor(written),
    });
  });
  return new Set(origins);
}

function hintFor(written: string): string | undefined {
  if (written.includes('*')) return 'list each origin; `*` is not supported';
  const origin = webOriginOf(written);
  return origin ? `write \`${origin}\`` : undefined;
}
