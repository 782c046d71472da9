import { windowAt } from '../../../core/accounting/window.ts';
import { refuse, SignalboxError } from '../../../core/errors.ts';
import { STEP_MS, TRAFFIC_STEPS, type TrafficStep } from '../../../store/traffic.ts';
import type { Stretch } from '../report/period.ts';

/** The lengths of the buckets of an answer. Months have only sums. */
export const ANSWER_STEPS = [...TRAFFIC_STEPS, 'month'] as const;
export type AnswerStep = (typeof ANSWER_STEPS)[number];

/** The buckets of an answer, and the stored buckets from which they are computed. */
export interface TrafficPeriod extends Stretch {
  /** The beginnings of the buckets. */
  readonly times: readonly number[];
  /** The length of the stored buckets. */
  readonly unit: TrafficStep;
  /** Returns the index in `times` for the beginning of a stored bucket. Null if the buckets have only sums. */
  readonly placeOf: ((time: number) => number) | null;
}

/** The most buckets of an answer. */
const BUCKETS_MAX = 2_880;

/**
 * Returns the buckets of a period. Days are stored in UTC. Days of another time zone are computed from hours, as long as hours are kept.
 * @throws SignalboxError
 */
export function bucketsOf({ from, to }: Stretch, step: AnswerStep, timeZone: string): TrafficPeriod {
  if (step === 'month') {
    const { times, end } = windowsOf({ from, to }, step, timeZone);
    return { from: times[0]!, to: end, times, unit: timeZone === 'UTC' ? 'day' : 'hour', placeOf: null };
  }
  if (step === 'day' && timeZone !== 'UTC') return zonedDays({ from, to }, timeZone);
  const length = STEP_MS[step];
  const [first, end] = [Math.floor(from / length) * length, Math.ceil(to / length) * length];
  checkCount((end - first) / length, step);
  const times = Array.from({ length: (end - first) / length }, (_, at) => first + at * length);
  return { from: first, to: end, times, unit: step, placeOf: (time) => Math.floor((time - first) / length) };
}

/**
 * Returns the beginnings of the days or months of a time zone that a period touches, and the end of the last one. @throws SignalboxError
 */
function windowsOf({ from, to }: Stretch, kind: 'day' | 'month', timeZone: string) {
  checkCount((to - from) / STEP_MS.day, 'day');
  const times: number[] = [];
  let end = from;
  do {
    const { starts, ends } = windowAt(kind, timeZone, end);
    times.push(starts);
    end = ends;
  } while (end < to);
  if ([...times, end].some((time) => time % STEP_MS.hour !== 0)) {
    const message = `Days of ${timeZone} do not begin on a whole hour of UTC. Use the step hour, or another time zone.`;
    refuse('time_zone', message);
  }
  return { times, end };
}

function zonedDays(stretch: Stretch, timeZone: string): TrafficPeriod {
  const { times, end } = windowsOf(stretch, 'day', timeZone);
  const places = new Map<number, number>();
  for (let place = 0, time = times[0]!; time < end; time += STEP_MS.hour) {
    if (time >= (times[place + 1] ?? end)) place++;
    places.set(time, place);
  }
  return { from: times[0]!, to: end, times, unit: 'hour', placeOf: (time) => places.get(time) ?? -1 };
}

function checkCount(buckets: number, step: TrafficStep): void {
  if (buckets <= BUCKETS_MAX) return;
  const message = `An answer has at most ${BUCKETS_MAX} buckets. This period has ${Math.ceil(buckets)} buckets with the step ${step}. Choose a shorter period or a longer step.`;
  throw new SignalboxError('out_of_range', message, { param: 'from' });
}

/** A period, and the length of the buckets with which it is read. */
export interface ReadStretch extends Stretch {
  readonly step: TrafficStep;
}

const LONGER: Readonly<Record<TrafficStep, TrafficStep | null>> = { minute: 'hour', hour: 'day', day: null };

/** Returns the fewest stored buckets that make up a period: long buckets inside, short buckets at its ends. */
export function wholeOf({ from, to, unit }: Pick<TrafficPeriod, 'from' | 'to' | 'unit'>): ReadStretch[] {
  const longer = LONGER[unit];
  if (longer === null) return [{ step: unit, from, to }];
  const length = STEP_MS[longer];
  const [first, end] = [Math.ceil(from / length) * length, Math.floor(to / length) * length];
  if (first >= end) return [{ step: unit, from, to }];
  const ends = [
    { step: unit, from, to: first },
    { step: unit, from: end, to },
  ];
  return [...ends.filter((stretch) => stretch.from < stretch.to), ...wholeOf({ from: first, to: end, unit: longer })];
}
