import { parseMoment } from '../../core/clock.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { isTimeZone } from '../../core/zoned-time.ts';
import { STEP_MS, TRAFFIC_DIMENSIONS, type TrafficGrouping } from '../../store/traffic.ts';
import { parseDay } from '../usage.ts';
import { isLabelGrouping, TRAFFIC_GROUPINGS, type TrafficFilters } from './grouping.ts';
import { ANSWER_STEPS, type AnswerStep } from './periods.ts';
import { TRAFFIC_LIMIT, TRAFFIC_LIMIT_MAX, type TrafficQuestion } from './traffic.ts';

/** The texts of a query or of a command; absent: the usual. */
type QuestionTexts = Readonly<
  Partial<Record<'from' | 'to' | 'step' | 'time_zone' | 'by' | (typeof TRAFFIC_DIMENSIONS)[number], string>>
> & { readonly limit?: unknown; readonly compare?: string; readonly points?: string };

/** The length of a period that does not say it. */
const USUAL_DAYS: Readonly<Record<AnswerStep, number>> = { minute: 1, hour: 1, day: 30, month: 180 };
const COMPARED = ['before'] as const;
const POINTS = ['true', 'false'] as const;

/** Reads a question. @throws SignalboxError */
export function questionOf(query: QuestionTexts, now: number): TrafficQuestion {
  const step = wordOf('step', query.step ?? 'hour', ANSWER_STEPS);
  const by = query.by === undefined ? null : groupingOf(query.by);
  const timeZone = query.time_zone ?? 'UTC';
  if (!/^[A-Za-z]/.test(timeZone) || !isTimeZone(timeZone)) {
    refuse(
      'time_zone',
      `The time zone \`${timeZone.slice(0, 64)}\` is unknown. Use an IANA name such as UTC or Europe/Berlin.`,
    );
  }
  const isCompared = query.compare !== undefined && wordOf('compare', query.compare, COMPARED) === 'before';
  const hasPoints = wordOf('points', query.points ?? 'true', POINTS) === 'true';
  const to = momentIn('to', query.to, timeZone) ?? now;
  const from = momentIn('from', query.from, timeZone) ?? to - USUAL_DAYS[step] * STEP_MS.day;
  if (from >= to) refuse('to', '`to` must be later than `from`.');
  const named = TRAFFIC_DIMENSIONS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]] as const]));
  const filters: TrafficFilters = Object.fromEntries(named);
  if (filters.label !== undefined && filters.label.indexOf('=') < 1) {
    refuse('label', `\`label\` must have the form name=value, not \`${filters.label.slice(0, 64)}\`.`);
  }
  const limit = limitIn(query.limit ?? TRAFFIC_LIMIT);
  return { from, to, step, timeZone, by, filters, limit, isCompared, hasPoints };
}

function wordOf<Word extends string>(param: string, text: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  return word ?? refuse(param, `\`${param}\` is one of ${words.join(', ')}, not \`${text.slice(0, 64)}\`.`);
}

function groupingOf(text: string): TrafficGrouping {
  if (isLabelGrouping(text)) return text;
  return TRAFFIC_GROUPINGS.find((one) => one === text) ?? wordOf('by', text, [...TRAFFIC_GROUPINGS, 'label:NAME']);
}

/** A day begins in the zone. */
function momentIn(param: 'from' | 'to', text: string | undefined, timeZone: string): number | null {
  if (text === undefined) return null;
  const time = parseDay(text)?.toZonedDateTime({ timeZone }).epochMilliseconds ?? parseMoment(text);
  // Requests have IDs since 2026; the bound keeps times within what a date can say.
  if (time !== null && time >= 0 && time < Date.UTC(2_200, 0)) return time;
  return refuse(param, `\`${param}\` takes 2026-11-20 or 2026-11-20T08:00Z, not \`${text.slice(0, 64)}\`.`);
}

function limitIn(asked: unknown): number {
  const limit = Number(asked);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= TRAFFIC_LIMIT_MAX) return limit;
  return refuse('limit', `\`limit\` must be a whole number from 1 to ${TRAFFIC_LIMIT_MAX}.`, 'out_of_range');
}

function refuse(param: string, message: string, code: ErrorCode = 'invalid_value'): never {
  throw new SignalboxError(code, message, { param });
}
