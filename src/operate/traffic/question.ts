import { parseMoment } from '../../core/clock.ts';
import { SignalboxError } from '../../core/errors.ts';
import { isTimeZone } from '../../core/zoned-time.ts';
import { STEP_MS, TRAFFIC_DIMENSIONS, type TrafficGrouping } from '../../store/traffic.ts';
import { parseDay } from '../usage.ts';
import { isLabelGrouping, TRAFFIC_GROUPINGS, type TrafficFilters } from './grouping.ts';
import type { AnswerStep } from './periods.ts';
import { TRAFFIC_LIMIT, type TrafficQuestion } from './traffic.ts';

/** The members of a query; absent: the usual. */
type TrafficQuery = Readonly<
  Partial<Record<'from' | 'to' | 'timeZone' | 'by' | (typeof TRAFFIC_DIMENSIONS)[number], string | undefined>>
> & {
  readonly step?: AnswerStep | undefined;
  readonly limit?: number | undefined;
  readonly compare?: 'before' | undefined;
  readonly points?: 'true' | 'false' | undefined;
};

/** The length of a period that does not say it. */
const USUAL_DAYS: Readonly<Record<AnswerStep, number>> = { minute: 1, hour: 1, day: 30, month: 180 };

/** Reads a question. @throws SignalboxError */
export function questionOf(query: TrafficQuery, now: number): TrafficQuestion {
  const { step = 'hour', timeZone = 'UTC', limit = TRAFFIC_LIMIT } = query;
  const by = query.by === undefined ? null : groupingOf(query.by);
  if (!/^[A-Za-z]/.test(timeZone) || !isTimeZone(timeZone)) {
    refuse(
      'time_zone',
      `The time zone \`${timeZone.slice(0, 64)}\` is unknown. Use an IANA name such as UTC or Europe/Berlin.`,
    );
  }
  const to = momentIn('to', query.to, timeZone) ?? now;
  const from = momentIn('from', query.from, timeZone) ?? to - USUAL_DAYS[step] * STEP_MS.day;
  if (from >= to) refuse('to', '`to` must be later than `from`.');
  const named = TRAFFIC_DIMENSIONS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]] as const]));
  const filters: TrafficFilters = Object.fromEntries(named);
  if (filters.label !== undefined && filters.label.indexOf('=') < 1) {
    refuse('label', `\`label\` must have the form name=value, not \`${filters.label.slice(0, 64)}\`.`);
  }
  return {
    ...{ from, to, step, timeZone, by, filters, limit },
    isCompared: query.compare !== undefined,
    hasPoints: query.points !== 'false',
  };
}

function groupingOf(text: string): TrafficGrouping {
  if (isLabelGrouping(text)) return text;
  const known = TRAFFIC_GROUPINGS.find((one) => one === text);
  const words = [...TRAFFIC_GROUPINGS, 'label:NAME'].join(', ');
  return known ?? refuse('by', `\`by\` is one of ${words}, not \`${text.slice(0, 64)}\`.`);
}

/** A day begins in the zone. */
function momentIn(param: 'from' | 'to', text: string | undefined, timeZone: string): number | null {
  if (text === undefined) return null;
  const time = parseDay(text)?.toZonedDateTime({ timeZone }).epochMilliseconds ?? parseMoment(text);
  // Requests have IDs since 2026; the bound keeps times within what a date can say.
  if (time !== null && time >= 0 && time < Date.UTC(2_200, 0)) return time;
  return refuse(param, `\`${param}\` takes 2026-11-20 or 2026-11-20T08:00Z, not \`${text.slice(0, 64)}\`.`);
}

function refuse(param: string, message: string): never {
  throw new SignalboxError('invalid_value', message, { param });
}
