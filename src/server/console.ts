import { isLoopbackHost } from '../core/net/loopback.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { Log } from '../host/telemetry/log.ts';
import { type BuiltConsole, readBuiltConsole } from '../http/console/built.ts';

/**
 * Returns a function that reads the console's files at each call, so that the console may be built while the server runs. If the files of
 * the console are missing at the start, the function logs a warning.
 */
export function openConsole(log: Pick<Log, 'warn'>): () => BuiltConsole | null {
  if (!readBuiltConsole()) log.warn('the console is not built, so /console is not served', { run: 'npm run console' });
  return () => readBuiltConsole();
}

/** The hosts in a URL that mean every address of this machine. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '[::]']);

/**
 * Says where a browser opens the console and how to sign in.
 * @param address the address that the server listens on
 * @param key where the first key is, in words: `the API key below`; null if this start has none
 * @returns null if the policy switches the console off, or the console is not built
 */
export function consoleHint(
  { console: { enabled: isOn }, publicUrl, signIn }: Pick<PolicySnapshot, 'console' | 'publicUrl' | 'signIn'>,
  address: string,
  key: string | null,
): string | null {
  if (!isOn || !readBuiltConsole()) return null;
  const { hostname, port } = new URL(address);
  const here = EVERY_ADDRESS.has(hostname) ? `http://localhost:${port}` : isLoopbackHost(hostname) ? address : null;
  const site = publicUrl ?? here;
  if (site === null) return 'set public_url in the policy to open it (/docs/guide/operate/console.md)';
  const ownKey = key ?? 'an API key that has the scope admin or report';
  return `${site}/console; sign in with ${ownKey}${signIn ? `, or with ${new URL(signIn.issuer).host}` : ''}`;
}
