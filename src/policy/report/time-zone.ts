import { isTimeZone } from '../../core/time/zoned-time.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';

/** Reports an unknown time zone. */
export function checkTimeZone(name: string, place: SourceSpan, report: Report): void {
  if (isTimeZone(name)) return;
  report.add('bad-form', place, `there is no time zone \`${name}\``, {
    expected: 'an IANA name such as `UTC` or `Europe/Berlin`',
  });
}
