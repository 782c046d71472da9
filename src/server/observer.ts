import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { createIds, ID_SLOTS } from '../core/id.ts';
import { pathsOf, type Surface } from '../dialects/surface.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import { createChatMetrics } from '../gateway/request/observe/chat-metrics.ts';
import { logForeignFields } from '../gateway/request/observe/foreign-fields.ts';
import { logRequests } from '../gateway/request/observe/log-line.ts';
import { Observer, type RequestReporter } from '../gateway/request/observe/observer.ts';
import { recordRefusals } from '../gateway/request/observe/refusals.ts';
import type { Family } from '../host/telemetry/families.ts';
import type { Tracer } from '../host/telemetry/tracing/start.ts';
import { createEdgeMetrics } from '../http/edge-metrics.ts';
import { isStated } from '../routing/model-name.ts';
import type { Instance } from '../store/instance.ts';

/**
 * Numbers requests for the log, traces, answers and records. The store does not count the numbers, so a server that lost its slot at the
 * database can still answer health checks. State: request IDs.
 */
function requestIds(instance: Instance): () => number {
  let [slot, last] = [instance.slot, instance.idsAbove];
  let next = createIds(instance.now, last, ID_SLOTS + slot);
  return () => {
    if (slot !== instance.slot) {
      slot = instance.slot;
      next = createIds(instance.now, Math.max(last, instance.idsAbove), ID_SLOTS + slot);
    }
    last = next();
    return last;
  };
}

/** Opens the log, metrics and traces of requests with the given options. */
export function openObserver(
  { clock, log, ledger, lease, records }: Gateway,
  instance: Instance,
  { metrics, log: form }: Pick<ServeOptions, 'metrics' | 'log'>,
  surfaces: readonly Surface[],
  tracer: Tracer | null,
  more: readonly RequestReporter[],
): { observer: Observer; families: readonly Family[] } {
  const chat = createChatMetrics(() => lease().snapshot.metrics.keyLabel);
  const edge = createEdgeMetrics();
  const routes = surfaces.flatMap((surface) => surface.routes.flatMap(pathsOf).map((path) => ({ surface, path })));
  const foreign = new Map(routes.map(({ surface, path }) => [path, surface.foreignFields ?? new Map()]));
  const dialects = new Map(routes.map(({ surface, path }) => [path, surface.name]));
  const isModelName = (name: string) => isStated(name, lease().snapshot);
  const refused = recordRefusals({ refusals: records.refusals, now: instance.now, isModelName, dialects });
  const workReporters: RequestReporter[] = [logForeignFields(log, foreign), ...more];
  const reporters: RequestReporter[] = [refused];
  if (form !== 'off') reporters.push(logRequests(log));
  if (metrics) {
    workReporters.push(chat.count);
    reporters.push(edge.count);
  }
  const trace = tracer && ((headers: Headers) => tracer.begin(headers));
  const written = () => ledger.written();
  const nextId = requestIds(instance);
  const observer = new Observer({ trace, workReporters, reporters, log, clock, nextId, written });
  return { observer, families: [...chat.families, ...edge.families, ...(tracer?.families ?? [])] };
}
