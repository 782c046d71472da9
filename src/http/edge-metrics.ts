import type { Gate } from '../access/limits/gate.ts';
import { ERROR_CODES } from '../core/errors.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { counter, gauge, histogram, OTHER } from '../host/telemetry/counts.ts';
import type { Family } from '../host/telemetry/families.ts';
import type { KeptConversations } from './kit/kept-conversations.ts';

/** The methods with metric series of their own. Callers can send any word as a method. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Makes the metrics of all HTTP requests. */
export function createEdgeMetrics() {
  const requests = counter({
    name: 'signalbox_http_requests_total',
    help: 'Finished requests.',
    labels: ['method', 'route', 'status'],
  });
  const errors = counter({
    name: 'signalbox_http_errors_total',
    help: 'Requests answered with an error.',
    labels: ['code'],
  });
  const duration = histogram({
    name: 'signalbox_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its answer and its background work.',
    labels: ['route'],
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  });
  // All codes exist from the start, because the first event of a new series would not show as an increase.
  const failed = new Map(ERROR_CODES.map((code) => [code, errors.at(code)]));
  return {
    /**
     * Counts a finished request.
     * @param now ms on the gateway's clock
     */
    count({ route, method, answer, at }: RequestContext, now: number): void {
      const { status, code } = answer;
      duration.at(route).observe((now - at) / 1000);
      requests.at(METHODS.has(method) ? method : OTHER, route, `${status}`).value++;
      if (code) failed.get(code)!.value++;
    },
    families: [requests.family, errors.family, duration.family],
  };
}

/** Counts the running conversations that are kept in memory. */
export const conversationFamilies = (kept: Pick<KeptConversations, 'size' | 'bytes'>): readonly Family[] => [
  gauge('signalbox_conversations_kept', 'Running conversations whose last body is in memory.', () => kept.size),
  gauge('signalbox_conversations_kept_bytes', 'Estimated memory of these conversations.', () => kept.bytes),
];

/** Counts the requests that run and the requests that wait. */
export const gateFamilies = (
  gate: Pick<Gate, 'inside' | 'waiting'>,
  inFlight: { readonly size: number },
): readonly Family[] => [
  gauge('signalbox_requests_open', 'Chat and route requests in progress.', () => gate.inside),
  gauge('signalbox_requests_waiting', 'Chat and route requests waiting for a free place.', () => gate.waiting),
  gauge('signalbox_chats_open', 'Chat requests and top-ups in progress.', () => inFlight.size),
];
