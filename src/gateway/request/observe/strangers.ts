import { type LineLimit, lineLimit } from '../../../host/telemetry/line-limit.ts';
import type { RequestContext } from '../request-context.ts';

/** The most refusals of unknown callers that are reported in a minute. */
const STRANGERS_MAX = 60;

/**
 * Limits the reports on unknown callers. Unknown callers can send thousands of requests, and the reports on these requests would hide other
 * reports.
 */
export const strangersLimit = (): LineLimit => lineLimit(STRANGERS_MAX);

/** Whether a request of an unknown caller was refused. Failures of the gateway itself do not count. */
export const isTurnedAway = ({ answer: { status } }: RequestContext): boolean =>
  status === 0 || (status >= 400 && status < 500);
