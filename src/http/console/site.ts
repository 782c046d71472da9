import { SignalboxError } from '../../core/errors.ts';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import { printable } from '../kit/unknown-path.ts';

/** The address at which a browser has reached the gateway. */
export interface Site {
  /** The address for people: `public_url`, without a slash at its end. */
  readonly base: string;
  /** The origins of the console's own pages. */
  readonly origins: readonly string[];
}

/**
 * Returns the site of a request that may contain a cookie: `public_url`, or this machine. Any other host is refused, because an attacker
 * can point a host name of their own to this server (DNS rebinding).
 * @throws SignalboxError `wrong_host`
 */
export function siteOf({ url }: Pick<Request, 'url'>, publicUrl: string | null): Site {
  const { host, hostname } = new URL(url);
  const own = publicUrl === null ? null : new URL(publicUrl);
  const origins = own ? [own.origin] : [];
  const base = publicUrl ?? `http://${host}`;
  if (own && URL.parse(`${own.protocol}//${host}`)?.host === own.host) return { base, origins };
  // A proxy on this machine may terminate TLS, or replace the host name with its own.
  if (isLoopbackHost(hostname)) return { base, origins: [`http://${host}`, `https://${host}`, ...origins] };
  const advice = own
    ? `Use ${own.href}.`
    : 'Set `public_url` in the policy to the address at which people open the console.';
  throw new SignalboxError('wrong_host', `Logins do not work at the host ${printable(host)}. ${advice}`);
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a change that was not sent by a page of the console.
 * @throws SignalboxError `wrong_origin` with the setting to configure
 */
export function checkOrigin({ method, headers }: Pick<Request, 'method' | 'headers'>, { origins }: Site): void {
  const origin = headers.get('origin');
  if (SAFE.has(method) || (origin !== null && origins.includes(origin))) return;
  const own = origins.map((one) => `\`${one}\``).join(' or ');
  const pass = (does: string) =>
    `If a proxy ${does} the header, configure the proxy to pass \`Origin\` unchanged; Signalbox expects ${own}.`;
  const message =
    origin === null
      ? `The request has no \`Origin\` header, so Signalbox cannot see that its own page sent it. ${pass('removes')}`
      : origin === 'null'
        ? `The header \`Origin: null\` names no page, so Signalbox cannot see that its own page sent the request. A browser sends \`null\` from a sandboxed frame or because of a privacy setting: open the console in a tab of its own, without that setting. ${pass('replaces')}`
        : `The header \`Origin: ${printable(origin)}\` is not the address of this console, which is ${own}. If you use the console at ${printable(origin)}, set \`public_url\` in the policy to that address, and configure the proxy to pass \`Origin\` unchanged.`;
  throw new SignalboxError('wrong_origin', `${message} Programs send an API key instead of the cookie.`);
}
