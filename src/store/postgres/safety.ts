import { StoreError } from '../store.ts';
import type { Connection } from './connection.ts';
import { ANOTHER_SESSION } from './fault.ts';

/** The oldest server that the tables and statements are written for. */
const VERSION_MIN = 140_000;

/** Settings without which a commit that was answered may be lost, or a page be torn. */
const SETTINGS: readonly (readonly [name: string, isSafe: (value: string) => boolean, words: string])[] = [
  ['fsync', (value) => value === 'on', 'a crash of its machine would spoil the database'],
  // `local` waits for the own disk alone, which is as much as one server promises.
  ['synchronous_commit', (value) => value !== 'off', 'a crash would lose commits that were answered'],
  ['full_page_writes', (value) => value === 'on', 'a crash of its machine would tear pages'],
  ['transaction_read_only', (value) => value === 'off', 'it is a standby, or takes no writes; name the primary'],
];

interface SettingRow {
  readonly name: string;
  readonly setting: string;
}

/**
 * Refuses a server on which what was answered may be lost.
 * @throws StoreError `denied` of the reason, by rejecting
 */
export async function requireSafety(connection: Connection): Promise<void> {
  const { rows } = await connection.run<SettingRow>(
    `SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'server_encoding', ${SETTINGS.map(([name]) => `'${name}'`).join(', ')})`,
  );
  const values = new Map(rows.map(({ name, setting }) => [name, setting]));
  const version = Number(values.get('server_version_num'));
  if (version < VERSION_MIN)
    throw unsafe(`it is PostgreSQL ${Math.floor(version / 10_000)}, and 14 or later is needed`);
  if (values.get('server_encoding') !== 'UTF8')
    throw unsafe(`its texts are ${values.get('server_encoding')}; make it with ENCODING 'UTF8'`);
  for (const [name, isSafe, words] of SETTINGS) {
    const value = values.get(name) ?? 'not known';
    if (!isSafe(value)) throw unsafe(`${name} is ${value}: ${words}`);
  }
}

const unsafe = (why: string): StoreError => new StoreError(why, { reason: 'denied' });

/** A connection, as far as its session goes. */
type Session = Pick<Connection, 'backend' | 'backendNow' | 'close' | 'isPooled' | 'script'>;

/**
 * Refuses a pooler that gives each transaction another session: prepared statements, bounds and messages belong to a session.
 * @param open opens one more connection
 * @throws StoreError `denied` of the reason, by rejecting
 */
export async function requireSession(
  connection: Omit<Session, 'close' | 'script'>,
  open: () => Promise<Session>,
): Promise<void> {
  if (!connection.isPooled) return;
  const other = await open();
  try {
    // It keeps a session for itself, which may be the one that this connection had.
    await other.script('BEGIN');
    await other.backendNow();
    if (connection.backend !== other.backend && connection.backend === (await connection.backendNow())) return;
  } finally {
    await other.close();
  }
  throw unsafe(ANOTHER_SESSION);
}
