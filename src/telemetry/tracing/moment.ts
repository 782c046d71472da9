/** OpenTelemetry's form of a time: whole seconds since 1970, and nanoseconds. */
export type Moment = [seconds: number, nanoseconds: number];

const NANOSECONDS = 1_000_000_000;

/**
 * The moment `ms` after `originMs`. A double cannot hold nanoseconds since 1970, so the two are not simply added. What is
 * later never comes out earlier, so that a span within another stays within it.
 */
export function momentAt(originMs: number, ms: number): Moment {
  const originSeconds = Math.floor(originMs / 1_000);
  const rest = originMs - originSeconds * 1_000 + ms;
  const seconds = Math.floor(rest / 1_000);
  const nanoseconds = Math.round((rest - seconds * 1_000) * 1e6);
  return nanoseconds < NANOSECONDS ? [originSeconds + seconds, nanoseconds] : [originSeconds + seconds + 1, 0];
}

/** From one to a later one. */
export function between([from, fromRest]: Moment, [to, toRest]: Moment): Moment {
  return toRest < fromRest ? [to - from - 1, toRest - fromRest + NANOSECONDS] : [to - from, toRest - fromRest];
}
