import type { CountedRooms } from '../access/limits/endpoint-rooms.ts';
import { Gate } from '../access/limits/gate.ts';
import { keyedRates } from '../access/limits/keyed-rates.ts';
import { NewestLimits } from '../access/limits/newest.ts';
import { SharedCounts } from '../access/limits/shared-counts.ts';
import { everyOperation } from '../admin/groups.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import type { Surface } from '../dialects/surface.ts';
import type { Family } from '../host/telemetry/families.ts';
import type { Tracer } from '../host/telemetry/tracing/start.ts';
import { createApp } from '../http/app.ts';
import type { AppOptions } from '../http/app-options.ts';
import { openConversations } from '../http/kit/kept-conversations.ts';
import { loadSecret } from '../payments/seal.ts';
import type { SecretFiles } from '../policy/runtime/secret-files.ts';
import type { OpenStore } from '../store/driver.ts';
import { openAlerts } from './alerts.ts';
import { openConsole } from './console.ts';
import { openServerDoctor } from './doctor.ts';
import type { openGateway } from './gateway.ts';
import type { Host } from './host.ts';
import { openMetrics } from './metrics.ts';
import { openObserver } from './observer.ts';
import type { ServerResources } from './resources.ts';
import { openSignIn } from './sign-in.ts';
import { openTokens } from './tokens.ts';
import { notedHeads } from './trail-head.ts';

interface EdgeParts {
  readonly surfaces: readonly Surface[];
  readonly secrets: SecretFiles;
  readonly tracer: Tracer | null;
  /** The metrics of the log. */
  readonly families: readonly Family[];
  readonly defects: { readonly families: readonly Family[] };
  readonly rooms: CountedRooms;
  /** The maximum size of a WebSocket message, in bytes. */
  readonly socketBytesMax: number;
}

/** Opens the HTTP edge of a gateway, and what watches its requests: alerts, metrics, the log and traces. */
export async function openEdge(
  opened: Awaited<ReturnType<typeof openGateway>>,
  resources: ServerResources,
  options: ServeOptions,
  { surfaces, secrets, tracer, families: logged, defects, rooms, socketBytesMax }: EdgeParts,
) {
  const { store, keys, people, log, host, feed } = resources;
  const { gateway, status, reloader: policy } = opened;
  const { clock, timers, version, stalledS, steps } = host;
  const tokens = await openTokens(resources);
  const watched = { ...opened, ...status, policy, store, version };
  const alerts = openAlerts(resources, watched);
  const requests = openObserver(gateway, store.instance, options, surfaces, tracer, [alerts.count]);
  const { observer } = requests;
  const gate = new Gate(clock, timers);
  const conversations = openConversations({ news: store.news, keys }, clock, timers);
  const families = [...requests.families, ...logged, ...alerts.families, ...defects.families];
  const metrics = openMetrics({ ...watched, gate, conversations }, families);
  const app = createApp({
    ...opened,
    ...(await openSignIn(resources, gateway.lease)),
    ...{ surfaces, store, keys, tokens, policy, version, observer, feed },
    ...{ gate, conversations, socketBytesMax, stalledS, steps },
    operations: await everyOperation(),
    people: { people, keys },
    authenticate: keys.authenticate,
    built: openConsole(log),
    alerts: alerts.sender,
    shared: await shareLimits(store, gateway.ledger.rank, rooms, host),
    doctor: openServerDoctor({ ...opened, store, secrets, host }, options),
    trailHeads: () => notedHeads(options.data),
    // With several processes, the parent serves one metrics page for all processes.
    metrics: options.metrics && !host.parent ? metrics : null,
  });
  return { app, alerts: alerts.sender, metrics };
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
