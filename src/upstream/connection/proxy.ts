import { isWithin, parseRange } from '../../core/address.ts';
import { literalAddress } from '../../core/address-class.ts';

/** Reads a variable of the environment. */
export type Variable = (name: string) => string | undefined;

/**
 * The proxy through which the environment wants this address to be reached; null for none. Reads the variables that
 * fetch reads, `https_proxy` or `http_proxy`, `all_proxy` and `no_proxy`, in small letters before capitals.
 */
export function proxyFor(url: URL, variable: Variable): string | null {
  const read = (name: string) => given(variable(name)) ?? given(variable(name.toUpperCase()));
  const proxy = read(url.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? read('all_proxy');
  if (proxy === null || isExempt(url, read('no_proxy') ?? '')) return null;
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

/** What a variable holds; null for nothing, which is also written with quotes. */
function given(text: string | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' || trimmed === '""' || trimmed === "''" ? null : trimmed;
}

/**
 * Whether `no_proxy` has the host: a name stands for itself and all below it, `10.0.0.0/8` for a range, `*` for all, and
 * a port may follow. It reads as fetch does, which would else connect to what was never checked.
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
