import { readFileSync } from 'node:fs';
import { reasonOf } from '../reason.ts';
import { StoreError } from '../store.ts';

/** Where a database is, and how its server is known. */
export interface PostgresAddress {
  /** A name, an address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Its file is read for each connection, so that a password may change. Throws StoreError. */
  readonly password: () => string;
  /** The authorities that may have signed the server's certificate, as PEM; '' for the system's. Null: without TLS. */
  readonly authorities: string | null;
}

const FORM = 'it must be postgres://USER@HOST:PORT/DATABASE; in a password # is %23, / is %2F, ? is %3F and % is %25';
const PARAMETERS: ReadonlySet<string> = new Set(['host', 'password_file', 'sslmode', 'sslrootcert']);
const isHere = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.') || host.startsWith('/');

/**
 * Reads `postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full&sslrootcert=FILE&password_file=FILE`. A server on another
 * machine is asked for a certificate that names it, unless `sslmode=disable` says otherwise. The file has the password alone.
 * @throws StoreError of one sentence, which does not repeat the URL: it may have a password
 */
export function addressOf(text: string): PostgresAddress {
  const url = URL.parse(text);
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) throw unusable(FORM);
  const stranger = [...url.searchParams.keys()].find((name) => !PARAMETERS.has(name));
  if (stranger !== undefined)
    throw unusable(`it has the parameter ${stranger}; known are ${[...PARAMETERS].join(', ')}`);
  const host = url.searchParams.get('host') ?? url.hostname.replace(/^\[(.*)\]$/, '$1');
  const database = decoded(url.pathname.slice(1));
  const user = decoded(url.username);
  if (host === '' || database === '' || user === '') throw unusable('it must name a user, a host and a database');
  const passwordFile = url.searchParams.get('password_file');
  if (passwordFile !== null && url.password !== '')
    throw unusable('it has a password, and names a file with one, too; leave out one of them');
  const own = decoded(url.password);
  const password = () => (passwordFile === null ? own : passwordIn(passwordFile));
  // A server that asks for no password would leave it unnoticed that the file cannot be read.
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
  if (mode === 'disable') throw unusable('sslrootcert has no use with sslmode=disable');
  throw unusable(`sslmode=${mode} does not check who answers; use verify-full, with sslrootcert for an own authority`);
}

function certificatesIn(file: string): string {
  const text = fileText(file, 'sslrootcert');
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw unusable('the file of sslrootcert has no certificate as PEM');
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
  if (password === '') throw unusable('the file of the password is empty');
  return password;
}

const unusable = (why: string, cause?: unknown): StoreError =>
  new StoreError(`The URL of the database cannot be used: ${why}.`, { reason: 'denied', cause });

/** Names a database to people, without its user and password. @throws as `addressOf` */
export const placeOf = (text: string): string => placeAt(addressOf(text));

export function placeAt({ host, port, database }: PostgresAddress): string {
  return `postgres://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}
