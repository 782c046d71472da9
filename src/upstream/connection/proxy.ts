import { isWithin, parseRange } from '../../core/address.ts';
import { literalAddress } from '../../core/address-class.ts';

/** Reads an environment variable. */
export type ReadVariable = (name: string) => string | undefined;

/**
 * Returns the proxy that the environment sets for a URL; null for none. Reads the same variables as fetch:
 * `https_proxy` or `http_proxy`, then `all_proxy`, and `no_proxy`; lower case wins over upper case.
 */
export function proxyFor(url: URL, variable: ReadVariable): string | null {
  const read = (name: string) => nonEmpty(variable(name)) ?? nonEmpty(variable(name.toUpperCase()));
  const proxy = read(url.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? read('all_proxy');
  if (proxy === null || isExempt(url, read('no_proxy') ?? '')) return null;
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

/** A variable's value; null for an empty one, which some write as a pair of quotes. */
function nonEmpty(text: string | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' || trimmed === '""' || trimmed === "''" ? null : trimmed;
}

/**
 * Whether `no_proxy` lists the host: a name covers its subdomains, `10.0.0.0/8` a range, `*` everything; a port may
 * follow. Must agree with fetch, which would otherwise connect to an unchecked address.
 */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.replace(/\.$/, '');
  const address = literalAddress(host);
  const ownPort = port || (protocol === 'https:' ? '443' : '80');
  return list.split(',').some((text) => {
    const entry = text.trim().toLowerCase();
    if (entry === '*') return true;
    const range = parseRange(entry.replace(/^\[(.*)\]$/, '$1'));
    if (range) return address !== null && isWithin(address, range);
    const [, name = '', entryPort] = /^(?:\*?\.)?(.*?)\.?(?::(\d+))?$/.exec(entry) ?? [];
    if (name === '' || (entryPort !== undefined && entryPort !== ownPort)) return false;
    return host === name || host.endsWith(`.${name}`);
  });
}
