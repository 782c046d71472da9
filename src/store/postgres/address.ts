import { readFileSync } from 'node:fs';
import { reasonOf } from '../reason.ts';
import { StoreError } from '../store.ts';

/** The location of a database, the login for it, and how Signalbox verifies the database server. */
export interface PostgresAddress {
  /** A host name, an IP address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /**
   * Returns the password. Reads a password file again for each connection, so that the password may change while the server runs.
   * @throws StoreError if the file is unreadable or empty
   */
  readonly password: () => string;
  /**
   * The certificate authorities that Signalbox accepts for the database server, as PEM. `''` means the authorities of the operating system.
   * Null means a connection without TLS.
   */
  readonly authorities: string | null;
}

const FORM =
  'it must be postgres://USER@HOST:PORT/DATABASE; in a password, write # as %23, / as %2F, ? as %3F and % as %25';
const PARAMETERS: ReadonlySet<string> = new Set(['host', 'password_file', 'sslmode', 'sslrootcert']);
const isHere = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.') || host.startsWith('/');

/**
 * Reads `postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full&sslrootcert=FILE&password_file=FILE`. For a database on another machine,
 * the connection uses TLS and verifies the host name in the certificate, unless the URL says `sslmode=disable`. The password file contains
 * only the password.
 * @throws StoreError of one sentence. It does not repeat the URL, which may contain a password.
 */
export function addressOf(text: string): PostgresAddress {
  const url = URL.parse(text);
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) throw unusable(FORM);
  const stranger = [...url.searchParams.keys()].find((name) => !PARAMETERS.has(name));
  if (stranger !== undefined)
    throw unusable(`it has the unknown parameter ${stranger}; the known parameters are ${[...PARAMETERS].join(', ')}`);
  const host = url.searchParams.get('host') ?? url.hostname.replace(/^\[(.*)\]$/, '$1');
  const database = decoded(url.pathname.slice(1));
  const user = decoded(url.username);
  if (host === '' || database === '' || user === '') throw unusable('it must name a user, a host and a database');
  const passwordFile = url.searchParams.get('password_file');
  if (passwordFile !== null && url.password !== '')
    throw unusable('it contains a password and also names a password file; remove one of them');
  const own = decoded(url.password);
  const password = () => (passwordFile === null ? own : passwordIn(passwordFile));
  // The password file is read at once, because a database that requires no password would hide that the file is unreadable.
  password();
  return { host, port: Number(url.port || 5_432), database, user, password, authorities: authoritiesOf(url, host) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw unusable(FORM);
  }
}

function authoritiesOf({ searchParams }: URL, host: string): string | null {
  const mode = searchParams.get('sslmode') ?? (isHere(host) ? 'disable' : 'verify-full');
  const file = searchParams.get('sslrootcert');
  if (mode === 'verify-full') return file === null ? '' : certificatesIn(file);
  if (mode === 'disable' && file === null) return null;
  if (mode === 'disable') throw unusable('sslrootcert has no effect with sslmode=disable; remove one of them');
  throw unusable(
    `sslmode=${mode} does not verify the database server; use verify-full, and sslrootcert if you run your own certificate authority`,
  );
}

function certificatesIn(file: string): string {
  const text = fileText(file, 'sslrootcert');
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw unusable('the file of sslrootcert contains no PEM certificate');
  return text;
}

function fileText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw unusable(`the file of ${what} cannot be read: ${reasonOf(cause)}`, cause);
  }
}

function passwordIn(file: string): string {
  const password = fileText(file, 'the password').replace(/\r?\n$/, '');
  if (password === '') throw unusable('the password file is empty');
  return password;
}

const unusable = (why: string, cause?: unknown): StoreError =>
  new StoreError(`The URL of the database cannot be used: ${why}.`, { reason: 'denied', cause });

/**
 * Names a database in messages: the URL without its user and password.
 * @throws StoreError as `addressOf` does
 */
export const placeOf = (text: string): string => placeAt(addressOf(text));

export function placeAt({ host, port, database }: PostgresAddress): string {
  return `postgres://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}
