/** A time in OpenTelemetry's form. */
export type HrTime = [seconds: number, nanoseconds: number];

const NANOSECONDS = 1_000_000_000;

/**
 * The moment `ms` after `originMs`. Avoids adding them, because a double cannot hold nanoseconds since 1970. Monotonic
 * in `ms`, so that nested spans stay nested.
 */
export function hrTimeAt(originMs: number, ms: number): HrTime {
  const originSeconds = Math.floor(originMs / 1_000);
  const rest = originMs - originSeconds * 1_000 + ms;
  const seconds = Math.floor(rest / 1_000);
  const nanoseconds = Math.round((rest - seconds * 1_000) * 1e6);
  return nanoseconds < NANOSECONDS ? [originSeconds + seconds, nanoseconds] : [originSeconds + seconds + 1, 0];
}

/** The duration from one moment to a later one. */
export function elapsed([from, fromRest]: HrTime, [to, toRest]: HrTime): HrTime {
  return toRest < fromRest ? [to - from - 1, toRest - fromRest + NANOSECONDS] : [to - from, toRest - fromRest];
}
