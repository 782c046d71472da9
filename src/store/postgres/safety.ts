import { StoreError } from '../store.ts';
import type { Connection } from './connection.ts';
import { ANOTHER_SESSION } from './fault.ts';

/** The oldest PostgreSQL version that the schema and statements support: 14. */
const VERSION_MIN = 140_000;

/**
 * Settings that PostgreSQL needs, with the consequence of a wrong value: an acknowledged commit could get lost, or a page could be damaged.
 */
const SETTINGS: readonly (readonly [name: string, isSafe: (value: string) => boolean, words: string])[] = [
  ['fsync', (value) => value === 'on', 'a crash of its machine could corrupt the database'],
  // The value `local` waits only for the local disk, and a single database server cannot promise more.
  ['synchronous_commit', (value) => value !== 'off', 'a crash could lose commits that were acknowledged'],
  ['full_page_writes', (value) => value === 'on', 'a crash of its machine could leave half-written pages'],
  [
    'transaction_read_only',
    (value) => value === 'off',
    'it is a standby, or does not accept writes; name the primary in the URL',
  ],
];

interface SettingRow {
  readonly name: string;
  readonly setting: string;
}

/**
 * Refuses a database server that could lose acknowledged commits, or that is unsupported.
 * @throws StoreError with the reason `denied`, by rejecting
 */
export async function requireSafety(connection: Pick<Connection, 'run'>): Promise<void> {
  const [fault] = await safetyFaults(connection);
  if (fault !== undefined) throw unsafe(fault);
}

/** Says why a database server could lose acknowledged commits, or is unsupported: a clause for each reason. */
export async function safetyFaults(connection: Pick<Connection, 'run'>): Promise<readonly string[]> {
  const { rows } = await connection.run<SettingRow>(
    `SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'server_encoding', ${SETTINGS.map(([name]) => `'${name}'`).join(', ')})`,
  );
  const values = new Map(rows.map(({ name, setting }) => [name, setting]));
  const version = Number(values.get('server_version_num'));
  const encoding = values.get('server_encoding');
  return [
    ...(version < VERSION_MIN
      ? [`it is PostgreSQL ${Math.floor(version / 10_000)}, but Signalbox needs version 14 or later`]
      : []),
    ...(encoding === 'UTF8' ? [] : [`its encoding is ${encoding}; create it with ENCODING 'UTF8'`]),
    ...SETTINGS.flatMap(([name, isSafe, words]) => {
      const value = values.get(name) ?? 'not known';
      return isSafe(value) ? [] : [`${name} is ${value}: ${words}`];
    }),
  ];
}

const unsafe = (why: string): StoreError => new StoreError(why, { reason: 'denied' });

/** The parts of a connection that depend on its session. */
type Session = Pick<Connection, 'backend' | 'backendNow' | 'close' | 'isPooled' | 'script'>;

/**
 * Refuses a pooler that gives each transaction another session, because prepared statements, time limits and notifications belong to a
 * session.
 * @param open opens one more connection
 * @throws StoreError with the reason `denied`, by rejecting
 */
export async function requireSession(
  connection: Omit<Session, 'close' | 'script'>,
  open: () => Promise<Session>,
): Promise<void> {
  if (!connection.isPooled) return;
  const other = await open();
  try {
    // The open transaction occupies a session. With transaction pooling, this session may be the session that `connection` used before.
    await other.script('BEGIN');
    await other.backendNow();
    if (connection.backend !== other.backend && connection.backend === (await connection.backendNow())) return;
  } finally {
    await other.close();
  }
  throw unsafe(ANOTHER_SESSION);
}
