import { addressClass, literalAddress } from '../core/address-class.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';

/** What an address must be. */
export const ADDRESS = { expected: 'http:// or https://, host and path, without user, query and fragment' };

/** An address as it is used: without a slash at its end; null for what is none. */
export function normalUrl(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  return url.href.replace(/\/+$/, '');
}

/** Only what the address says itself: where a name leads is looked at when it is connected to. */
export function refuseForbidden(url: string, what: string, place: SourceSpan, report: Report): void {
  const address = literalAddress(new URL(url).hostname);
  if (!address || addressClass(address) !== 'forbidden') return;
  const isUnspecified = address.at(-1) === 0 && address.at(-2) === 0;
  report.add('forbidden-address', place, `${what} holds an address that no request may go to`, {
    hint: isUnspecified
      ? 'servers listen there; to reach one on this machine, write 127.0.0.1'
      : 'metadata of clouds, link-local and multicast addresses are never called',
  });
}
