#!/usr/bin/env -S BUN_CONFIG_MAX_HTTP_REQUESTS=65336 bun --max-http-header-size=65536
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { shipped } from '../plugins/index.ts';
import { type Keys, openKeys } from './access/keys.ts';
import { accessMigrations } from './access/tables.ts';
import { runKeys } from './cli/keys.ts';
import { parseCommand, type ServeOptions, UsageError } from './cli/options.ts';
import { welcome } from './cli/welcome.ts';
import { SCOPES } from './core/caller.ts';
import { createIds } from './core/id.ts';
import { drain } from './gateway/drain.ts';
import type { Gateway } from './gateway/gateway.ts';
import { createApp } from './http/app.ts';
import { openLedger } from './ledger/ledger.ts';
import { ledgerMigrations } from './ledger/tables.ts';
import { createRegistry } from './plugin-host/registry.ts';
import { formatDiagnostics } from './policy/diagnostics.ts';
import { loadPolicy, type PolicyFile } from './policy/load.ts';
import { openRecords, type Records, recordsMigrations } from './records/records.ts';
import { buildRuntime, type Runtime } from './runtime/runtime.ts';
import { hashOf, readPolicies } from './runtime/source.ts';
import { lockFolder } from './store/folder-lock.ts';
import { openSqlite } from './store/sqlite.ts';
import type { Store } from './store/store.ts';
import { createLog, type Log } from './telemetry/log.ts';

/** Time for the last error events to reach their readers. */
const FAREWELL_MS = 250;
/** How soon a key that another process made or revoked counts here. */
const KEY_REFRESH_MS = 400;
const PRUNE_EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

const print = (text: string): void => void process.stdout.write(text);
const now = Date.now;
const clock = () => performance.now();

async function main(): Promise<void> {
  const shippedPolicies = join(import.meta.dir, '..', 'policies');
  const command = parseCommand(process.argv.slice(2), process.env, shippedPolicies);
  if (command.name === 'help') return print(command.text);
  if (command.name === 'serve') return serve(command.options);
  const store = await openSqlite(databaseOf(command.data), [accessMigrations]);
  const keys = await openKeys({ store, now });
  try {
    print(await runKeys(command.args, keys, now));
  } finally {
    keys.close();
    await store.close();
  }
}

const databaseOf = (data: string): string => join(data, 'signalbox.db');

async function serve(options: ServeOptions): Promise<void> {
  const log = createLog({ write: print, pretty: process.stdout.isTTY === true, now });
  process.on('exit', log.flush);
  const { runtime, files } = await loadRuntime(options.policies, log);
  const lock = lockFolder(options.data);
  const store = await openSqlite(databaseOf(options.data), [accessMigrations, ledgerMigrations, recordsMigrations], {
    onError: (error) => log.error('the database failed', { error: error.message }),
  });
  const keys = await openKeys({ store, now, refreshMs: KEY_REFRESH_MS });
  if (options.apiKey !== null) await keys.install(options.apiKey);
  const { gateway, stop } = await openGateway(runtime, files, store, log);
  const app = createApp({ gateway, authenticate: (header) => keys.authenticate(header), version: manifest.version });
  const address = listen(app, options);
  await announce(address, keys, options.data, log);

  const shutDown = async (signal: string) => {
    if (gateway.draining()) process.exit(1);
    log.info('draining', { signal, requests: gateway.exchanges.size });
    stop();
    const stopped = app.server?.stop();
    await drain(gateway, options.drainMs);
    await Promise.race([stopped, Bun.sleep(FAREWELL_MS)]);
    keys.close();
    await store.close();
    lock.release();
    log.info('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', () => void shutDown('SIGTERM'));
  process.on('SIGINT', () => void shutDown('SIGINT'));
}

/** Reads, checks and compiles the policy and prepares its plugins. Prints diagnostics; throws UsageError when it cannot serve. */
async function loadRuntime(folder: string, log: Log): Promise<{ runtime: Runtime; files: readonly PolicyFile[] }> {
  const registry = createRegistry(shipped);
  const files = await readPolicies(folder);
  const env = { get: (name: string) => process.env[name] };
  const { snapshot, diagnostics } = loadPolicy(files, { env, ...registry, revisionOf: hashOf });
  if (diagnostics.length > 0) process.stderr.write(`${formatDiagnostics(diagnostics, files)}\n`);
  if (!snapshot) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
    throw new UsageError(
      `The policy in ${folder} has ${errors} error${errors === 1 ? '' : 's'}, so nothing was started.`,
    );
  }
  const leftOut = snapshot.leftOut
    .filter(({ kind }) => kind === 'provider')
    .map(({ name, reason }) => `${name} (${reason})`);
  if (leftOut.length > 0) log.info('providers left out', { providers: leftOut.join(', ') });
  return { runtime: buildRuntime(snapshot, registry, env.get), files };
}

async function openGateway(runtime: Runtime, files: readonly PolicyFile[], store: Store, log: Log) {
  const { snapshot } = runtime;
  const ledger = await openLedger({
    store,
    now,
    onAlarm: (message, details) => log.error(message, { details: JSON.stringify(details) }),
  });
  const { count, microcredits } = ledger.recovered;
  if (count > 0) log.warn('reservations of an earlier run were charged', { count, microcredits });
  const records = openRecords({ store, now });
  const nextId = createIds(now, Math.max(ledger.lastId, await records.lastId()));
  const models = snapshot.models.map(({ id }) => id);
  await records.saveRevision(snapshot.revision, JSON.stringify(files), models);
  const pruning = setInterval(() => void prune(records, snapshot.recordDays, log), PRUNE_EVERY_MS);
  await prune(records, snapshot.recordDays, log);
  let draining = false;
  const gateway: Gateway = {
    lease: () => runtime,
    ledger,
    records,
    log,
    nextId,
    now,
    clock,
    exchanges: new Set(),
    draining: () => draining,
  };
  const stop = () => {
    draining = true;
    clearInterval(pruning);
  };
  return { gateway, stop };
}

async function prune(records: Records, days: number, log: Log): Promise<void> {
  try {
    await records.prune(days * DAY_MS);
  } catch (error) {
    log.warn('old records could not be pruned', { error: String(error) });
  }
}

const LISTEN_REASONS: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use; choose another with --port'],
  ['EACCES', 'permission denied; choose a port above 1023 with --port'],
  ['EADDRNOTAVAIL', 'this machine has no such address; choose another with --host'],
  // What Bun says of a name or an address that it cannot resolve.
  ['ENOENT', 'there is no such address; choose another with --host'],
]);

function listen(app: ReturnType<typeof createApp>, { port, host }: ServeOptions): string {
  try {
    // Sharing the port would let two servers start on it, each with some of the requests.
    app.listen({ port, hostname: host, reusePort: false, maxRequestBodySize: Number.MAX_SAFE_INTEGER });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const reason = LISTEN_REASONS.get(code) ?? (cause instanceof Error ? cause.message : String(cause));
    throw new UsageError(`Cannot listen on ${host}:${port}: ${reason}.`);
  }
  const shown = host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${app.server?.port ?? port}`;
}

/**
 * Makes the first key where there is none: last of all, for a start that fails must not leave a key that nobody saw.
 * On a terminal it is shown once; elsewhere it would end in a log, so it goes to a file of the owner's.
 */
async function announce(address: string, keys: Keys, data: string, log: Log): Promise<void> {
  const first = (await keys.list()).length === 0;
  const create = async () => (await keys.create({ name: 'admin', scopes: SCOPES })).key;
  if (process.stdout.isTTY) {
    print(welcome(address, first ? await create() : null));
    return;
  }
  if (first) {
    const file = join(data, 'admin.key');
    if (existsSync(file))
      throw new UsageError(`${file} exists, but the database knows no key; move it away and start again.`);
    writeFileSync(file, '', { mode: 0o600 });
    writeFileSync(file, `${await create()}\n`);
    log.info('the first API key was written', { file });
  }
  log.info('listening', { address });
}

main().catch((error: unknown) => {
  process.stderr.write(`signalbox: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
