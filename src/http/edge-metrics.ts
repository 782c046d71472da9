import type { Gate } from '../access/limits/gate.ts';
import { ERROR_CODES } from '../core/errors.ts';
import type { Spread } from '../core/spread.ts';
import type { RequestContext } from '../gateway/request-context.ts';
import { type CounterCell, counter, gauge, histogram, OTHER } from '../telemetry/counts.ts';
import type { Family } from '../telemetry/families.ts';

/** The methods with series of their own: a method is the caller's own word. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The figures of one route. */
interface RouteFigures {
  readonly duration: Spread;
  /** By method and status. */
  readonly requests: Map<string, Map<number, CounterCell>>;
}

/** Metrics on all HTTP requests. */
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
    help: 'Time from the first byte to the end of the answer and background work.',
    labels: ['route'],
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  });
  const routes = new Map<string, RouteFigures>();
  // All codes from the start: the first event of a new series would not show as an increase.
  const failed = new Map(ERROR_CODES.map((code) => [code, errors.at(code)]));
  return {
    /** Counts a request that is over. `now`: ms on the gateway's clock. */
    count({ route, method, status, code, at }: RequestContext, now: number): void {
      const figures = findOr(routes, route, () => ({ duration: duration.at(route), requests: new Map() }));
      figures.duration.observe((now - at) / 1000);
      const known = METHODS.has(method) ? method : OTHER;
      const byStatus = findOr(figures.requests, known, () => new Map<number, CounterCell>());
      findOr(byStatus, status, () => requests.at(known, route, `${status}`)).value++;
      if (code) failed.get(code)!.value++;
    },
    families: [requests.family, errors.family, duration.family],
  };
}

function findOr<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

/** Counts the requests that are worked on and that wait. */
export const gateFamilies = (
  gate: Pick<Gate, 'inside' | 'waiting'>,
  inFlight: { readonly size: number },
): readonly Family[] => [
  gauge('signalbox_requests_open', 'Chat and route requests in progress.', () => gate.inside),
  gauge('signalbox_requests_waiting', 'Chat and route requests waiting for a place.', () => gate.waiting),
  gauge('signalbox_chats_open', 'Chat requests and top-ups in progress.', () => inFlight.size),
];
