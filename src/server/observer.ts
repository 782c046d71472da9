import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { createIds } from '../core/id.ts';
import { answerRoutesOf, type Surface } from '../dialects/surface.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import { createChatMetrics } from '../gateway/request/observe/chat-metrics.ts';
import { logForeignFields } from '../gateway/request/observe/foreign-fields.ts';
import { logRequests } from '../gateway/request/observe/log-line.ts';
import { Observer, type RequestReporter } from '../gateway/request/observe/observer.ts';
import type { Family } from '../host/telemetry/families.ts';
import type { Tracer } from '../host/telemetry/tracing/start.ts';
import { createEdgeMetrics } from '../http/edge-metrics.ts';
import type { Instance } from '../store/instance.ts';

/**
 * Numbers requests for the log, traces and answers. No table stores the numbers of requests, so a server that lost its place at the
 * database can still answer health checks. State: request IDs.
 */
function requestIds(instance: Instance): () => number {
  let [slot, last] = [instance.slot, instance.idsAbove];
  let next = createIds(instance.now, last, slot);
  return () => {
    if (slot !== instance.slot) {
      slot = instance.slot;
      next = createIds(instance.now, Math.max(last, instance.idsAbove), slot);
    }
    last = next();
    return last;
  };
}

/** Opens the log, metrics and traces of requests with the given options. */
export function openObserver(
  { clock, log, ledger, lease }: Gateway,
  instance: Instance,
  { metrics, log: form }: Pick<ServeOptions, 'metrics' | 'log'>,
  surfaces: readonly Surface[],
  tracer: Tracer | null,
  more: readonly RequestReporter[],
): { observer: Observer; families: readonly Family[] } {
  const chat = createChatMetrics(() => lease().snapshot.keyLabel);
  const edge = createEdgeMetrics();
  const foreign = new Map(
    answerRoutesOf(surfaces).map(({ surface, route }) => [route.path, surface.foreignFields ?? new Map()]),
  );
  const reporters: RequestReporter[] = [logForeignFields(log, foreign), ...more];
  if (form !== 'off') reporters.push(logRequests(log));
  if (metrics) reporters.push(chat.count, edge.count);
  const trace = tracer && ((headers: Headers) => tracer.begin(headers));
  const written = () => ledger.written();
  const observer = new Observer({ trace, reporters, log, clock, nextId: requestIds(instance), written });
  return { observer, families: [...chat.families, ...edge.families, ...(tracer?.families ?? [])] };
}
