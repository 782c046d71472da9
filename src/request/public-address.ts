import { parseAddress } from '../core/address.ts';
import { isPublic, literalAddress } from '../core/address-class.ts';

/** More than any signed address has. */
const LENGTH_MAX = 8_192;

/** Names of private networks. Names without a dot are private, too. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|private|svc|home\.arpa)$/;
/** Matches names that resolve to an address in them: `10.0.0.1.nip.io`, `10-0-0-1.sslip.io`. */
const ADDRESS_IN_NAME = /(?<!\d)(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?!\d)/;

function isPublicName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  if (!name.includes('.') || PRIVATE_NAME.test(name)) return false;
  const inside = ADDRESS_IN_NAME.exec(name);
  const address = inside && parseAddress(inside.slice(1, 5).join('.'));
  return !address || isPublic(address);
}

/**
 * Checks an http or https address that a provider is to fetch. An ambiguous address is refused: the fetcher may read it
 * otherwise than we do. Names are not looked up.
 * @returns the reason against it as the end of a sentence; null for a public address
 */
export function whyNotPublic(address: string): string | null {
  if (address.length > LENGTH_MAX) return `may have at most ${LENGTH_MAX} characters`;
  // Some fetchers read a backslash as a slash, and some skip invisible characters.
  if (/[\s\\\p{Cc}]/u.test(address)) return 'must not hold blanks, control characters or backslashes';
  const written = /^https?:\/\/([^/?#]+)/i.exec(address)?.[1];
  if (written === undefined || !URL.canParse(address)) return 'must be an http or https address';
  if (written.includes('@')) return 'must not hold a user or a password';
  const { hostname } = new URL(address);
  const host = written.replace(/:\d*$/, '').toLowerCase();
  const bare = literalAddress(hostname);
  // `0x7f.1`, `127.1`, `2130706433` and `0177.0.0.1` are addresses, too, and fetchers disagree on which.
  if (bare && !hostname.startsWith('[') && host !== hostname) return 'must have an IPv4 address written as 192.0.2.1';
  if (host.includes('%')) return 'must have its host written without %';
  const isReachable = bare ? isPublic(bare) : isPublicName(hostname);
  return isReachable ? null : 'must not lead into a private network';
}
