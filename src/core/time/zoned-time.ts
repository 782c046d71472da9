import { orElse } from '../thrown.ts';

/** Whether a text is a time zone: an IANA name or an offset. The check avoids `Intl`, which would load its formats at each start. */
export const isTimeZone = (name: string): boolean => orElse(() => new Temporal.ZonedDateTime(0n, name), null) !== null;
