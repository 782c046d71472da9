import type { Log } from '../../../host/telemetry/log.ts';
import type { RequestReporter } from './observer.ts';

/** The most pairs of a key and a field that are logged. */
const PAIRS_MAX = 1_000;

/**
 * Returns a reporter that logs each ignored field of another API, once for each key, with the field to send instead. State: observer.
 * @param byRoute pattern of a route → fields of other APIs → what to send instead
 */
export function logForeignFields(
  log: Pick<Log, 'warn'>,
  byRoute: ReadonlyMap<string, ReadonlyMap<string, string>>,
): RequestReporter {
  const logged = new Set<string>();
  return ({ route, keyId, exchange: { result } }) => {
    const dropped = result?.platform.dropped;
    if (!dropped || dropped.length === 0) return;
    for (const field of dropped) {
      const instead = byRoute.get(route)?.get(field);
      const pair = `${keyId} ${field}`;
      if (instead === undefined || logged.has(pair) || logged.size >= PAIRS_MAX) continue;
      logged.add(pair);
      log.warn('a request field of another API was ignored', { key: keyId ?? undefined, field, instead });
    }
  };
}
