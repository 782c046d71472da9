import { type LineLimit, lineLimit } from '../../../host/telemetry/line-limit.ts';
import type { RequestContext } from '../request-context.ts';

/** Reported refusals of unknown callers, a minute. */
const STRANGERS_MAX = 60;

/** Makes a bound of reports on unknown callers, who can send requests by the thousand and would drown the others. */
export const strangersLimit = (): LineLimit => lineLimit(STRANGERS_MAX);

/** Whether a request of an unknown caller was not served. Failures of the gateway itself do not count. */
export const isTurnedAway = ({ status }: RequestContext): boolean => status === 0 || (status >= 400 && status < 500);
