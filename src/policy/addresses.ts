import { addressClass, literalAddress } from '../core/address-class.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';
import { variableHint, variableIn } from './slip-hints.ts';

export const ADDRESS = { expected: 'http:// or https:// with host and path, without user, query or fragment' };

/** The address without a slash at its end; null for an invalid one. */
export function normalUrl(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return url.href.replace(/\/+$/, '');
}

/** Reports a text of the policy that is not an address. */
export function reportNoAddress(text: string, what: string, place: SourceSpan, report: Report): void {
  const variable = variableIn(text);
  if (variable !== undefined) {
    const message = `${what} refers to a variable, which is not replaced by its value`;
    report.add('bad-form', place, message, { hint: variableHint('base_url', variable) });
    return;
  }
  const complete = withScheme(text.trim());
  if (complete === null) report.add('bad-form', place, `${what} is not an address`, ADDRESS);
  else report.add('bad-form', place, `${what} has no scheme`, { hint: `write \`${complete}\`` });
}

/** An address without a scheme, completed: `localhost:8000/v1`; null for any other text. */
function withScheme(text: string): string | null {
  const [, host] = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d+)?(?:\/[^\s?#@]*)?$/i.exec(text) ?? [];
  if (host === undefined) return null;
  const isLocal = !host.includes('.') || /^[\d.]+$/.test(host) || /\.(?:local|internal|lan)$/i.test(host);
  const complete = `${isLocal ? 'http' : 'https'}://${text}`;
  return normalUrl(complete) === null ? null : complete;
}

/** Names that only private networks resolve: a single word, or an ending that the Internet does not have. */
const PRIVATE_NAME = /^[^.]+$|\.(?:local|lan|internal|intranet|corp|home|home\.arpa|svc)$/i;

/** Warns of a host name that probably leads to a private network, which a provider must permit. */
export function reviewPrivateName(
  url: string,
  what: string,
  place: SourceSpan,
  report: Report,
  owner = 'provider',
): void {
  const { hostname } = new URL(url);
  if (literalAddress(hostname) || hostname === 'localhost' || !PRIVATE_NAME.test(hostname)) return;
  report.add('private-host', place, `${what} probably leads to a private network, where requests are refused`, {
    hint: `if \`${hostname}\` is yours, add \`allow_private_network: true\` to the ${owner}`,
  });
}

/** Reports a literal IP address that is forbidden. Host names are checked when they are connected to. */
export function refuseForbidden(url: string, what: string, place: SourceSpan, report: Report): void {
  const address = literalAddress(new URL(url).hostname);
  if (!address || addressClass(address) !== 'forbidden') return;
  const isUnspecified = address.at(-1) === 0 && address.at(-2) === 0;
  report.add('forbidden-address', place, `requests may not go to the address in ${what}`, {
    hint: isUnspecified
      ? 'this address is only for listening; to reach a server on this machine, write 127.0.0.1'
      : 'Signalbox never calls cloud metadata, link-local or multicast addresses',
  });
}
