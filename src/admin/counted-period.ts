import * as f from '../core/define/fields.ts';

/** The period of counted records, as the answers of these operations state it. */
export const COUNTED_PERIOD = {
  from: f.moment('The beginning of the period.'),
  to: f.moment('The end of the period.', '2026-11-21T08:00:00.000Z'),
  counted_from: f.orNull(
    f.moment(
      'The server counts about 100,000 requests, the newest first. If the period has more, the moment of the oldest request that it counted; null if it counted all.',
    ),
    undefined,
    null,
  ),
};
