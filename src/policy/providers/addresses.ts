import { addressClass, literalAddress } from '../../core/net/address-class.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { variableHint, variableIn } from '../yaml/slip-hints.ts';

export const ADDRESS = { expected: 'http:// or https:// with host and path, without user, query or fragment' };

/** Returns the URL without a slash at its end; null for an invalid URL. */
export function normalUrl(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return url.href.replace(/\/+$/, '');
}

/** Reports a text that is not a URL. */
export function reportNoAddress(text: string, what: string, place: SourceSpan, report: Report): void {
  const variable = variableIn(text);
  if (variable !== undefined) {
    const message = `${what} contains a variable, which Signalbox does not replace by its value`;
    report.add('bad-form', place, message, { hint: variableHint('base_url', variable) });
    return;
  }
  const complete = withScheme(text.trim());
  if (complete === null) report.add('bad-form', place, `${what} is not a URL`, ADDRESS);
  else
    report.add('bad-form', place, `${what} has no http:// or https:// at its beginning`, {
      hint: `write \`${complete}\``,
    });
}

/** Completes a URL that lacks a scheme, such as `localhost:8000/v1`; null for any other text. */
function withScheme(text: string): string | null {
  const [, host] = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d+)?(?:\/[^\s?#@]*)?$/i.exec(text) ?? [];
  if (host === undefined) return null;
  const isLocal = !host.includes('.') || /^[\d.]+$/.test(host) || /\.(?:local|internal|lan)$/i.test(host);
  const complete = `${isLocal ? 'http' : 'https'}://${text}`;
  return normalUrl(complete) === null ? null : complete;
}

/** Host names that only private networks resolve: a single word, or an ending that does not exist on the internet. */
const PRIVATE_NAME = /^[^.]+$|\.(?:local|lan|internal|intranet|corp|home|home\.arpa|svc)$/i;

/** The part of a policy that names an address. */
interface AddressOwner {
  readonly words: string;
  /** Whether `localhost` and numeric addresses need no permission. */
  readonly mayName: boolean;
  /** Whether messages may not show the address. */
  readonly isSecret?: boolean;
}
export const OF_PROVIDER: AddressOwner = { words: 'provider', mayName: true };
export const OF_GUARD: AddressOwner = { words: 'service of the guard', mayName: false };
export const OF_ISSUER: AddressOwner = { words: 'issuer', mayName: false };
export const OF_WEBHOOK: AddressOwner = { words: 'webhook', mayName: false, isSecret: true };

/** Warns about a host in a private network, because requests go there only if its owner in the policy allows it. */
export function reviewPrivateHost(
  url: string,
  what: string,
  place: SourceSpan,
  { words, mayName, isSecret = false }: AddressOwner,
  report: Report,
): void {
  const { hostname } = new URL(url);
  const literal = literalAddress(hostname);
  const isCertain = hostname === 'localhost' || (literal !== null && addressClass(literal) === 'private');
  if (isCertain ? mayName : literal || !PRIVATE_NAME.test(hostname)) return;
  const leads = isCertain ? 'leads to this machine or a private network' : 'probably leads to a private network';
  report.add('private-host', place, `${what} ${leads}, where Signalbox sends no requests by default`, {
    hint: `if ${isSecret ? 'the host' : `\`${hostname}\``} is yours, add \`allow_private_network: true\` to the ${words}`,
  });
}

/** Reports a literal IP address that is forbidden. Signalbox checks host names when it connects to them. */
export function refuseForbidden(url: string, what: string, place: SourceSpan, report: Report): void {
  const address = literalAddress(new URL(url).hostname);
  if (!address || addressClass(address) !== 'forbidden') return;
  const isUnspecified = address.at(-1) === 0 && address.at(-2) === 0;
  report.add('forbidden-address', place, `Signalbox sends no requests to the address in ${what}`, {
    hint: isUnspecified
      ? 'servers use this address only to listen; to reach a server on this machine, write 127.0.0.1'
      : 'Signalbox never calls cloud metadata, link-local or multicast addresses',
  });
}

/**
 * Warns about an address that has only a host, although services of this kind have their API at a path. A slash at the end of the address
 * says that the service has no path.
 * @param written the address as it was written
 * @param path the usual path, such as `/v1`
 * @param isSecret whether the message may not show the address
 */
export function reviewPath(
  { written, isSecret }: { readonly written: string; readonly isSecret: boolean },
  what: string,
  path: string,
  place: SourceSpan,
  report: Report,
): void {
  if (written.endsWith('/') || new URL(written).pathname !== '/') return;
  const message = `${what} has no path, but services of this kind have their API at \`${path}\``;
  report.add('address-without-path', place, message, {
    hint: `${isSecret ? `add \`${path}\` to it` : `write \`${written}${path}\``}; if your service has no path, end the address with a slash`,
  });
}
