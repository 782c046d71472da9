import { resolve } from 'node:path';
import type { AnyElysia } from 'elysia';
import { parseKey } from '../access/key.ts';
import { openKeys } from '../access/keys.ts';
import { CountedRooms } from '../access/limits/endpoint-rooms.ts';
import { Gate } from '../access/limits/gate.ts';
import { keyedRates } from '../access/limits/keyed-rates.ts';
import { NewestLimits } from '../access/limits/newest.ts';
import { SharedCounts } from '../access/limits/shared-counts.ts';
import { openPeople } from '../access/people.ts';
import { everyOperation } from '../admin/groups.ts';
import { endpointEvent } from '../admin/use-cases/events.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { followed } from '../admin/use-cases/served.ts';
import { lacksIn } from '../core/policy/found-models.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { messageOf } from '../core/thrown.ts';
import type { Timers } from '../core/time/timers.ts';
import type { Surface } from '../dialects/surface.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { Log } from '../host/telemetry/log.ts';
import { registerSecrets } from '../host/telemetry/secrets.ts';
import { openTracer } from '../host/telemetry/tracing/tracer.ts';
import { createApp } from '../http/app.ts';
import type { AppOptions } from '../http/app-options.ts';
import { EventFeed } from '../http/event-feed.ts';
import { openConversations } from '../http/kit/kept-conversations.ts';
import { openOperatorSocket } from '../http/operator-socket.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import { loadSecret } from '../payments/seal.ts';
import { type PolicyCandidate, type ServingProvider, servingProviders } from '../policy/runtime/candidate.ts';
import { ModelServers } from '../policy/runtime/discovery/model-servers.ts';
import { SecretFiles } from '../policy/runtime/secret-files.ts';
import { finishEdit } from '../policy/runtime/write-edit.ts';
import { listensHere } from '../providers/connection/listening.ts';
import { UpstreamNetwork } from '../providers/connection/network.ts';
import { Health } from '../providers/health/health.ts';
import type { HealthChange } from '../providers/health/types.ts';
import { PromptReader } from '../routing/profile/prompt-reader.ts';
import type { OpenStore, StoreLock } from '../store/driver.ts';
import { dataFolders, isShared, lockStore, placeOfStore } from '../store/open.ts';
import { openAlerts } from './alerts.ts';
import { announce, warnOfUnusedAddresses } from './announce.ts';
import { consoleHint, openConsole } from './console.ts';
import { type DataPlace, makeDataFolder, stateOnDisk } from './data.ts';
import { watchDefects } from './defects.ts';
import { openServerDoctor } from './doctor.ts';
import { logHealth } from './events.ts';
import { type FirstKey, openFirstKey } from './first-key.ts';
import { foundWriter, readFound } from './found-file.ts';
import { foundNotes } from './found-notes.ts';
import { openGateway, REFRESH_MS } from './gateway.ts';
import type { Host, Terminal } from './host.ts';
import { LedgerNote, refuseOtherLedger } from './ledger-note.ts';
import { listen, takePort } from './listen.ts';
import { openServerLog } from './log.ts';
import { openMetrics } from './metrics.ts';
import { openObserver } from './observer.ts';
import { firstPolicy, judgeTools, type ServerPolicyTools, withFound } from './policy-reload.ts';
import { RehearsalNote } from './rehearsal-note.ts';
import { notePolicies, unpackPolicies, unusedPolicies } from './shipped-policies.ts';
import { openShutdown } from './shutdown.ts';
import { openSignIn } from './sign-in.ts';
import { onStopSignals } from './stop-signals.ts';
import { openDataStore } from './store.ts';
import { hasTerminal } from './terminal.ts';
import { openTokens } from './tokens.ts';
import { keepTrailHead, notedHeads } from './trail-head.ts';
import { keepTrailNote } from './trail-note.ts';
import { settle } from './upkeep.ts';

/** The server logs a start that takes longer than this, ms. With a nearby database, a start takes a fraction of this time. */
export const SLOW_START_MS = 5_000;

/**
 * Loads the first policy from its folder, or from a copy of the shipped policy. The event feed begins with the health of the policy's
 * endpoints.
 */
async function startPolicy(
  { policies, policiesFrom, data, home, database, process, host: hostname, port }: ServeOptions,
  host: Host,
  secrets: SecretFiles,
  log: Log,
) {
  // A start that must fail creates no data folder. The parent of several processes has checked their port.
  if (process === null && port !== 0) await takePort(hostname, port);
  const { clock, now, timers, err, version } = host;
  const feed = new EventFeed(now);
  const onChange = (change: HealthChange) => {
    logHealth(log, change);
    feed.tell(() => endpointEvent(change, now()));
  };
  const rooms = new CountedRooms(clock);
  const health = new Health({ clock, now, random: Math.random, onChange, rooms });
  const unused = unusedPolicies(policies, home);
  const unpacked = unpackPolicies(policies, home);
  if (unpacked !== null) log.info('the shipped policy was copied: edit the copy', { folder: unpacked });
  const folder = unpacked ?? policies;
  if (unused !== null)
    log.warn('a folder with policy files is not used: name it with --policies', { folder: unused, used: folder });
  const network = new UpstreamNetwork(undefined, timers);
  const servers = new ModelServers({
    ...{ health, network, env: host.env, timers, now, clock },
    kept: readFound(data),
    keep: foundWriter(data, log),
    warn: (message, fields) => log.warn(message, fields),
    info: (message, fields) => log.info(message, fields),
  });
  const tools: ServerPolicyTools = {
    ...judgeTools(host),
    found: servers.input,
    onFoundDropped: (reason) =>
      log.warn('the policy cannot be built with the found models, so it serves without them', { reason }),
    servers,
    folder,
    dataFolder: home,
    secrets,
    rehearsed: new RehearsalNote({ data, version, env: host.env }),
    health,
    network,
    reader: new PromptReader(),
  };
  // If the edit cannot be finished, the policy folder still shows the edit as complete to its readers.
  await finishEdit(tools.folder).catch((error) =>
    log.warn('a policy edit that was interrupted could not be completed', { error: messageOf(error) }),
  );
  const { ledger, teams, pushed } = await stateOnDisk(database, { readsPushed: policiesFrom === 'store' });
  const judging = { ...tools, ledger, teams: () => teams ?? new Map() };
  const plain = await firstPolicy({ ...judging, found: undefined }, err, pushed);
  await servers.begin(plain.runtime);
  const first = await withFound(plain, judging);
  return { first, tools, feed, rooms };
}

/**
 * Starts a server and serves until the server is stopped.
 * @param surfaces the dialects that callers may use
 * @throws UsageError if the server cannot start; then it has served no request
 */
export async function serve(options: ServeOptions, around: Host, surfaces: readonly Surface[]): Promise<void> {
  const { out, now, clock, timers, on, version } = around;
  const { log, families: logged, written: linesWritten } = openServerLog(options, around);
  const secrets = openSecrets(around, log);
  const host = { ...around, env: secrets.get };
  const apiKey = apiKeyOf(secrets);
  const defects = watchDefects(log, host);
  // Without a handler, SIGHUP would end the process. Until there is a policy to reload, the handler of SIGHUP does nothing.
  let onHangup = () => {};
  on('SIGHUP', () => onHangup());
  const tracer = await openTracer({ env: host.env, version, log });
  const database = isShared(options.database) ? await placeOfStore(options.database) : null;
  using _told = tellOfWait(database, log, timers);
  const { first, tools, feed, rooms } = await startPolicy(options, host, secrets, log);
  const lock = await takePlace(options, tools.folder);
  const note = new LedgerNote(options.data, now, log);
  const store = await (host.openStore ?? openDataStore)(options, log, note, host);
  let onBudgets = async () => {};
  const people = await openPeople({ store, now: store.instance.now, onChange: () => onBudgets() });
  const keys = await openKeys({
    store,
    now: store.instance.now,
    refreshMs: REFRESH_MS,
    timers,
    onChange: () => onBudgets(),
    isOut: (user) => people.isOut(user),
  });
  if (apiKey !== null) await keys.install(apiKey).catch(notInstalled);
  const resources = { store, keys, people, log, host, feed };
  const opened = await openGateway(first, tools, resources, options);
  const { gateway, desk, idempotency, reloader, reporter, status, audits, recount, levels, stop } = opened;
  onBudgets = recount;
  const tokens = await openTokens(resources);
  const { socketBytesMax } = first.runtime.snapshot.gateway;
  const told = { ...opened, policy: reloader, health: tools.health, guardHealth: status.guardHealth };
  const alerts = openAlerts(resources, told);
  const { observer, families } = openObserver(gateway, store.instance, options, surfaces, tracer, [alerts.count]);
  const conversations = openConversations({ news: store.news, keys }, clock, timers);
  const watched = { ...told, gate: new Gate(clock, timers), conversations, store, version };
  const metrics = openMetrics(watched, [...families, ...logged, ...alerts.families, ...defects.families]);
  const app = createApp({
    ...watched,
    ...{ operations: await everyOperation(), surfaces, keys, levels, desk, idempotency, steps: around.steps },
    ...{ people: { people, keys }, authenticate: keys.authenticate, built: openConsole(log) },
    ...(await openSignIn(resources, gateway.lease)),
    alerts: alerts.sender,
    ...{ observer, feed, shared: await shareLimits(store, gateway.ledger.rank, rooms, around) },
    ...{ socketBytesMax, stalledS: around.stalledS },
    ...{ tokens, status, audits, doctor: openServerDoctor({ ...opened, store, secrets, host }, options) },
    trailHeads: () => notedHeads(options.data),
    // With several processes, the parent serves one metrics page for all processes.
    metrics: options.metrics && !around.parent ? metrics : null,
  });
  await note.keep(store, timers);
  const stopTrail = await keepTrailNote({ store, keys, timers, noteSeen: (through) => reporter.noteSeen(through) });
  const stopHead = await keepTrailHead(options.data, { store, log, timers, now });
  // The server creates the first key before it opens the port, so that no request can find a server without a key.
  const firstKey = await openFirstKey(keys, options.home, !out.isTerminal);
  const keyPlace = await handOver(firstKey, out, log);
  const doors = { socketBytesMax, idleS: around.stalledS };
  const { address, stopListening } = await openDoors(app, resources, options, doors);

  // The server sets its signal handlers before it reports that it is ready, because a Ctrl-C may follow at once.
  alerts.sender.begin();
  const parts = { ...options, ...resources, gateway, idempotency, note, lock, tracer, stopHead, alerts: alerts.sender };
  const port = portOf(address);
  const shutdown = openShutdown({ ...parts, port, stopTrail, stop, stopListening, written: linesWritten });
  defects.onException(shutdown.byException);
  onStopSignals(around, shutdown.bySignal);
  onHangup = () => void (out.isTerminal && !hasTerminal() ? shutdown.bySignal('SIGHUP') : reloader.reload('signal'));

  // The log lines must reach the terminal before the banner.
  await linesWritten();
  const console = consoleHint(first.runtime.snapshot, address, keyPlace);
  const reach = { address, console, database, policies: resolve(tools.folder), policiesFrom: options.policiesFrom };
  announce({ ...reach, simulated: isSimulated(gateway), ...(await whoAnswers(first, out)) }, firstKey, log, out);
  warnOfSetup(gateway, first, { ...host, address }, log);
  void settle(opened.rehearse(), gateway, host);
  around.parent?.serving({ ...shutdown, address, metrics, reload: () => onHangup() });
}

/**
 * Writes the first key to its file if there is no terminal that shows it.
 * @returns where the operator finds the key, in words; null if this start has no first key
 */
async function handOver(firstKey: FirstKey | null, { isTerminal }: Terminal, log: Log): Promise<string | null> {
  if (!firstKey) return null;
  if (isTerminal) return 'the API key below';
  const file = await firstKey.toFile();
  log.info('the first API key was written', { file });
  return `the API key in ${file}`;
}

/** Logs once, if a start takes long, that the database is the reason: it is far away, or another server is upgrading its tables. */
function tellOfWait(database: string | null, log: Log, timers: Timers): Disposable {
  const tell = () => log.warn('the start waits for the database', { database });
  const timer = database === null ? null : timers.after(SLOW_START_MS, tell);
  return { [Symbol.dispose]: () => timer?.close() };
}

/** Opens the port. The only or first process of a data folder also opens the socket of the data folder. */
async function openDoors(
  app: Pick<AnyElysia, 'listen' | 'server' | 'handle'>,
  { store, log }: { readonly store: OpenStore; readonly log: Log },
  options: ServeOptions,
  terms: Pick<Parameters<typeof listen>[1], 'socketBytesMax' | 'idleS'>,
) {
  const address = await listen(app, { ...options, ...terms });
  const isFirst = options.process === null || options.process === 1;
  const desk: Parameters<typeof openOperatorSocket>[1] = {
    handle: (request) => app.handle(request),
    follow: (change) => followed(store, async () => true, change),
  };
  const closeSocket = isFirst ? openOperatorSocket(options.home, desk, log) : null;
  const stopListening = () => {
    closeSocket?.();
    return app.server?.stop();
  };
  return { address, stopListening };
}

/** Counts the limits of endpoints together with the other servers of the store, and returns how the limits of callers are shared. */
async function shareLimits(
  store: OpenStore,
  ownRank: () => number,
  rooms: CountedRooms,
  { clock, timers }: Pick<Host, 'clock' | 'timers'>,
): Promise<AppOptions['shared']> {
  const { rates, news } = store;
  if (!rates) return undefined;
  rooms.share(new SharedCounts(keyedRates(rates, await loadSecret(store)), () => Math.floor(clock()), timers));
  return { rates, newest: new NewestLimits(rates, news, ownRank) };
}

function warnOfSetup(
  gateway: X402Gateway,
  { runtime }: PolicyCandidate,
  { env, address }: Pick<Host, 'env'> & { readonly address: string },
  log: Log,
): void {
  warnOfUnusedAddresses(runtime.snapshot, env, address, log);
  if (gateway.payments.policy && isSimulated(gateway))
    log.warn('payments are on, but only simulated models serve: no provider has a key');
}

const portOf = (address: string): number => Number(new URL(address).port);

/**
 * Locks the data folder and the store for this server, and notes its policy folder for commands. `takePlace` throws an Error with one clear
 * sentence.
 */
async function takePlace(place: DataPlace & Pick<ServeOptions, 'home'>, policies: string): Promise<StoreLock> {
  makeDataFolder(place.data);
  const { data, database } = place;
  const lock = await (isShared(database) ? (await dataFolders()).lockFolder(data) : lockStore(database));
  await refuseOtherLedger(place);
  notePolicies(place.home, policies);
  return lock;
}

const openSecrets = ({ env, now }: Host, log: Log): SecretFiles =>
  new SecretFiles({
    env,
    now,
    onUnusable: (variable, problem, isKept) =>
      log.warn('a file with a secret cannot be used', {
        variable: `${variable}_FILE`,
        problem,
        last_value_kept: isKept,
      }),
  });

/**
 * Returns the API key that the operator wants to install. The server reads this API key only at the start.
 * @throws UsageError if the file of the key cannot be used
 */
function apiKeyOf(secrets: SecretFiles): string | null {
  const key = secrets.fixed('SIGNALBOX_API_KEY');
  // Only the secret part of the API key is masked in logs. The key's ID is not secret: lists and logs show it.
  registerSecrets([key && (parseKey(key)?.secret ?? key)]);
  return key;
}

/** The error names the variable, because the reader of the error may not have set it. */
function notInstalled(error: unknown): never {
  throw new Error(`SIGNALBOX_API_KEY cannot be installed. ${messageOf(error)}`);
}

async function whoAnswers({ runtime: { snapshot } }: PolicyCandidate, { isTerminal }: Terminal) {
  const leftOut = snapshot.leftOut.filter(({ kind, name }) => kind === 'provider' && !snapshot.providers.has(name));
  const providers = servingProviders(snapshot);
  // The server looks for silent model servers only with a terminal, where a person can start a missing model server at once.
  const silent = isTerminal ? await silentServers(providers, snapshot) : [];
  const notes = { found: foundNotes(snapshot), missing: lacksIn(snapshot) };
  return { providers, leftOut: leftOut.map(({ name }) => name), silent, ...notes };
}

/** Finds model servers on this machine that the policy uses and that do not listen: `ollama at 127.0.0.1:11434`. */
async function silentServers(serving: readonly ServingProvider[], { providers }: PolicySnapshot): Promise<string[]> {
  const found = serving.map(async ({ name, served }) => {
    const baseUrl = providers.get(name)?.baseUrl ?? null;
    const isOwn = providers.get(name)?.discover !== undefined;
    if ((served.length === 0 && !isOwn) || baseUrl === null || (await listensHere(baseUrl)) !== false) return [];
    return [`${name} at ${new URL(baseUrl).host}`];
  });
  return (await Promise.all(found)).flat();
}

/** Whether simulated models answer, because no provider is set up. */
const isSimulated = ({ lease }: Gateway): boolean =>
  [...lease().snapshot.providers.values()].some(({ adapter }) => adapter === 'simulated');
