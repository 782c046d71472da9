#!/usr/bin/env -S BUN_CONFIG_MAX_HTTP_REQUESTS=65336 bun --no-install --max-http-header-size=262144
import { closeSync, existsSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { shipped } from '../plugins/index.ts';
import { type Idempotency, openIdempotency } from './access/idempotency/state.ts';
import { idempotencyMigrations } from './access/idempotency/table.ts';
import { parseKey } from './access/key.ts';
import { type Keys, openKeys } from './access/keys.ts';
import { accessMigrations } from './access/tables.ts';
import { announce } from './cli/announce.ts';
import { logAlert, logHealth, logRecovered, logReload } from './cli/events.ts';
import { runKeys } from './cli/keys.ts';
import { runLedger } from './cli/ledger.ts';
import { listen } from './cli/listen.ts';
import { parseCommand, type ServeOptions, UsageError } from './cli/options.ts';
import { runPolicy } from './cli/policy.ts';
import { type LedgerState, NO_LEDGER } from './core/budget.ts';
import { steady } from './core/clock.ts';
import { createIds, timeOfId } from './core/id.ts';
import { drain } from './gateway/drain.ts';
import type { Gateway } from './gateway/gateway.ts';
import { createApp } from './http/app.ts';
import { keyBudgets } from './ledger/key-budgets.ts';
import { type Ledger, type LedgerTerms, openLedger } from './ledger/ledger.ts';
import { ledgerMigrations } from './ledger/schema.ts';
import { ledgerStateOf } from './ledger/state.ts';
import { createPluginShelf } from './plugin-host/load.ts';
import { type Diagnostic, formatDiagnostics } from './policy/diagnostics.ts';
import type { PolicyFile } from './policy/load.ts';
import { openRecords, type Records, recordsMigrations } from './records/records.ts';
import { type Candidate, isRejected, type Judge, judge, leftOutProviders } from './runtime/candidate.ts';
import { parseFiles } from './runtime/language.ts';
import { createParser } from './runtime/parser.ts';
import { Reloader } from './runtime/reload.ts';
import { readBundle } from './runtime/source.ts';
import { watchPolicies } from './runtime/watch.ts';
import { lockFolder } from './store/folder-lock.ts';
import { openReader, openSqlite } from './store/sqlite.ts';
import type { Store } from './store/store.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { learnSecrets, mask, scrub } from './telemetry/secrets.ts';
import { Health } from './upstream/health/health.ts';

/** Time for the last error events to reach their readers. */
const FAREWELL_MS = 1_000;
/** How soon a key that another process made or revoked, or a grant, counts here. */
const REFRESH_MS = 400;
/** Commands write for a few ms; whoever keeps the database locked for longer gets requests refused, not the server stopped. */
const SERVER_BUSY_MS = 200;
const PRUNE_EVERY_MS = 3_600_000;
/** How often what was measured of upstreams becomes what decisions go by. */
const PUBLISH_EVERY_MS = 1_000;
const DAY_MS = 86_400_000;

const print = (text: string): void => void process.stdout.write(text);
/** Resolves once the text was taken, so that who reads slowly is not outrun. Who has read enough ends it. */
const write = (text: string): Promise<void> =>
  new Promise((done, failed) =>
    process.stdout.write(text, (error) => {
      if (!error) done();
      else if ('code' in error && error.code === 'EPIPE') process.exit(0);
      else failed(error);
    }),
  );
/** IDs and windows of budgets never go back, though the system's clock may. */
const now = steady(Date.now);
const clock = () => performance.now();

async function main(): Promise<void> {
  const shippedPolicies = join(import.meta.dir, '..', 'policies');
  const command = parseCommand(process.argv.slice(2), process.env, shippedPolicies);
  if (command.name === 'help') return print(command.text);
  if (command.name === 'version') return print(`${manifest.version}\n`);
  if (command.name === 'serve') return serve(command.options);
  if (command.name === 'policy') {
    const { folder, args } = command;
    const colour = process.stdout.isTTY === true;
    const judge = { ...judgeTools(), ledger: await ledgerOnDisk(command.data) };
    const { text, code } = await runPolicy(args, { judge, folder, colour });
    print(text);
    process.exitCode = code;
    return;
  }
  if (!existsSync(databaseOf(command.data))) {
    throw new UsageError(
      `There is no database in ${resolve(command.data)}; start the server once, or name its folder with --data.`,
    );
  }
  if (command.name === 'ledger') {
    process.exitCode = await runLedger(command.args, { file: databaseOf(command.data), now, write });
    return;
  }
  const store = await openSqlite(databaseOf(command.data), [accessMigrations]);
  const keys = await openKeys({ store, now });
  try {
    print(await runKeys(command.args, { keys, store, file: databaseOf(command.data), now }));
  } finally {
    keys.close();
    await store.close();
  }
}

/** Whether made-up models answer, for want of a provider. */
const isSimulated = ({ lease }: Gateway): boolean =>
  [...lease().snapshot.providers.values()].some(({ adapter }) => adapter === 'simulated');

/** What policies are judged with here, parsed on this thread. */
function judgeTools(): Omit<Judge, 'folder'> {
  const env = { get: (name: string) => process.env[name] };
  return { shipped, shelf: createPluginShelf(), env, now, parse: parseFiles };
}

/** False once the terminal that the process was started from is closed. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

const databaseOf = (data: string): string => join(data, 'signalbox.db');

async function serve(options: ServeOptions): Promise<void> {
  // Its ID is no secret: it stands in lists and logs.
  learnSecrets([options.apiKey && (parseKey(options.apiKey)?.secret ?? options.apiKey)]);
  const log = createLog({ write: print, pretty: process.stdout.isTTY === true, now });
  process.on('exit', log.flush);
  // It would end the process; until there is a policy to reload it means nothing.
  let onHangup = () => {};
  process.on('SIGHUP', () => onHangup());
  const health = new Health({
    clock,
    now,
    random: Math.random,
    onChange: (change) => logHealth(log, change),
  });
  const tools: Serving = { ...judgeTools(), folder: options.policies, health };
  const first = await firstPolicy({ ...tools, ledger: await ledgerOnDisk(options.data) }, log);
  const lock = lockFolder(options.data);
  const tables = [accessMigrations, idempotencyMigrations, ledgerMigrations, recordsMigrations];
  const store = await openSqlite(databaseOf(options.data), tables, {
    onError: (error) => log.error('the database failed', { error: error.message }),
    busyTimeoutMs: SERVER_BUSY_MS,
    fenced: true,
  });
  let onBudgets = async () => {};
  const keys = await openKeys({ store, now, refreshMs: REFRESH_MS, onChange: () => onBudgets() });
  if (options.apiKey !== null) await keys.install(options.apiKey);
  const { gateway, idempotency, reloader, recount, stop } = await openGateway(first, tools, store, keys, log);
  onBudgets = recount;
  const app = createApp({
    gateway,
    policy: reloader,
    keys,
    idempotency,
    authenticate: (header) => keys.authenticate(header),
    version: manifest.version,
    metrics: options.metrics,
    endpoints: () => health.samples(),
  });
  const address = listen(app, options.port, options.host);
  await announce(address, keys, options.data, isSimulated(gateway), log, print);

  const shutDown = async (signal: string) => {
    if (gateway.draining()) process.exit(1);
    log.info('draining', { signal, requests: gateway.exchanges.size });
    stop();
    const stopped = app.server?.stop();
    await drain(gateway, options.drainMs);
    await Promise.race([Promise.all([stopped, idempotency.idle()]), Bun.sleep(FAREWELL_MS)]);
    keys.close();
    // What a broken disk keeps from being summed up, the next start sums up.
    await gateway.ledger
      .close()
      .catch((error: unknown) => log.warn('the ledger has no checkpoint', { error: String(error) }));
    await store.close();
    lock.release();
    log.info('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', () => void shutDown('SIGTERM'));
  process.on('SIGINT', () => void shutDown('SIGINT'));
  const onTerminal = process.stdout.isTTY === true;
  onHangup = () => void (onTerminal && !hasTerminal() ? shutDown('SIGHUP') : reloader.reload('signal'));
}

/** The policy to start with. Prints diagnostics; throws UsageError when it cannot serve. */
async function firstPolicy(tools: Judge, log: Log): Promise<Candidate> {
  const bundle = await readBundle(tools.folder);
  const judged = await judge(bundle, tools);
  const found = isRejected(judged) ? judged.problems : judged.warnings;
  printDiagnostics(found, bundle.files);
  if (isRejected(judged)) {
    const errors = found.filter(({ severity }) => severity === 'error').length;
    const why = judged.message ?? `The policy in ${tools.folder} has ${errors} error${errors === 1 ? '' : 's'}`;
    throw new UsageError(`${why.replace(/\.$/, '')}, so nothing was started.`);
  }
  const leftOut = leftOutProviders(judged.runtime.snapshot);
  if (leftOut.length > 0) log.info('providers left out', { providers: leftOut.join(', ') });
  return judged;
}

/** A comment may hold what no value may. */
const masked = (file: PolicyFile): PolicyFile => ({ ...file, ...(file.text && { text: mask(file.text) }) });

function printDiagnostics(found: readonly Diagnostic[], files: readonly PolicyFile[]): void {
  if (found.length === 0) return;
  process.stderr.write(`${formatDiagnostics(found, files.map(masked), { colour: process.stderr.isTTY })}\n`);
}

/** What a policy must fit to before there is a server: the ledger in its data folder, if there is one. */
async function ledgerOnDisk(data: string): Promise<() => LedgerState> {
  if (!existsSync(databaseOf(data))) return () => NO_LEDGER;
  const reader = openReader(databaseOf(data));
  try {
    const state = await ledgerStateOf(reader);
    return () => state;
  } finally {
    reader.close();
  }
}

/** Keeps the policy in step with its folder from now on. */
function keepReloading(first: Candidate, tools: Serving, ledger: Ledger, terms: TermsOf, records: Records, log: Log) {
  const { health } = tools;
  const parser = createParser();
  const reloader = new Reloader(first, {
    judge: { ...tools, parse: parser.parse, ledger: () => ledger.state() },
    prepare: async (candidate) => {
      await saveRevision(records, candidate);
      return ledger.prepare(terms(candidate.runtime.snapshot));
    },
    onAttempt: (attempt, bundle) => {
      logReload(log, attempt);
      // The operator may have mended what was wrong at the provider.
      if (attempt.result !== 'refused') {
        const { snapshot, originOf } = reloader.lease();
        health.reloaded(snapshot, originOf);
      }
      printDiagnostics(attempt.diagnostics, bundle?.files ?? []);
    },
  });
  const watch = watchPolicies({
    folder: tools.folder,
    more: tools.shelf.files,
    onStir: parser.warm,
    onEdit: () => void reloader.reload('edit'),
  });
  const stop = () => {
    watch.close();
    parser.close();
  };
  return { reloader, stop };
}

function saveRevision(records: Records, { bundle, runtime }: Candidate): Promise<void> {
  const { revision, models } = runtime.snapshot;
  const ids = models.map(({ id }) => id);
  return records.saveRevision(revision, JSON.stringify(bundle.files.map(masked)), ids);
}

/** What policies are judged with by a server. */
type Serving = Judge & { readonly health: Health };

type TermsOf = (snapshot: LedgerTerms) => LedgerTerms;

async function openGateway(first: Candidate, tools: Serving, store: Store, keys: Keys, log: Log) {
  // Keys have budgets of their own beside the policy's.
  const terms: TermsOf = ({ budgets, ledger, usdPerCredit }) => {
    return { budgets: [...budgets, ...keyBudgets(keys.budgets())], ledger, usdPerCredit };
  };
  const ledger = await openLedger({
    store,
    terms: terms(first.runtime.snapshot),
    now,
    refreshMs: REFRESH_MS,
    onAlarm: (message, details) => log.error(message, details),
    onAlert: (fund, fraction) => logAlert(log, fund, fraction),
  });
  logRecovered(log, ledger);
  watchClock(log, ledger.lastId);
  const records = openRecords({ store, now });
  const nextId = createIds(now, Math.max(ledger.lastId, await records.lastId()));
  await saveRevision(records, first);
  const { reloader, stop: stopReloading } = keepReloading(first, tools, ledger, terms, records, log);
  const idempotency = openIdempotency({
    store,
    now,
    giveBack: (decision, note, instead) => ledger.giveBack(decision, note, instead),
  });
  const pruneNow = () => prune(records, idempotency, reloader.lease().snapshot.recordDays, log);
  const pruning = setInterval(() => void pruneNow(), PRUNE_EVERY_MS);
  const publishing = setInterval(() => tools.health.publish(), PUBLISH_EVERY_MS);
  await pruneNow();
  let draining = false;
  const gateway: Gateway = {
    lease: reloader.lease,
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
    clearInterval(publishing);
    stopReloading();
  };
  const recount = async () => (await ledger.prepare(terms(reloader.lease().snapshot)))();
  return { gateway, idempotency, reloader, recount, stop };
}

/** A clock that is so far behind what was booked makes budgets count in a window that is not the present one. */
const CLOCK_SLACK_MS = 60_000;

/** Tells when the system's clock is behind: IDs and windows never go back, so budgets stand still until it has caught up. */
function watchClock(log: Log, lastId: number): void {
  const booked = lastId === 0 ? 0 : timeOfId(lastId);
  let isTold = false;
  const look = () => {
    const latest = Math.max(booked, now());
    const behind = latest - Date.now() > CLOCK_SLACK_MS;
    if (behind && !isTold) {
      log.error('the clock is behind what was booked: charges count at the later time until it has caught up', {
        clock: new Date(Date.now()).toISOString(),
        booked: new Date(latest).toISOString(),
      });
    }
    isTold = behind;
  };
  look();
  setInterval(look, CLOCK_SLACK_MS).unref();
}

async function prune(records: Records, idempotency: Idempotency, days: number, log: Log): Promise<void> {
  try {
    await idempotency.prune();
    await records.prune(days * DAY_MS);
  } catch (error) {
    log.warn('old records could not be pruned', { error: String(error) });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`signalbox: ${scrub(error instanceof Error ? error.message : String(error))}\n`);
  process.exit(1);
});
