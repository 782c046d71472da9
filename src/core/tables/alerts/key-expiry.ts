import { Type } from '@sinclair/typebox';
import { whole } from '../../define/fields.ts';
import { DAY_MS, iso } from '../../time/clock.ts';
import { defineAlert } from './define.ts';
import { day, lengthOf } from './words.ts';

/** A key that still works and will expire. Times are ms since 1970. */
export interface ExpiringKey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

interface KeyReadings {
  keys(): readonly ExpiringKey[];
}

interface KeyRule {
  /** How many days before a key expires to send an alert, descending. */
  readonly days: readonly number[];
}

export const keyExpiry = defineAlert({
  on: 'key_expiry',
  means: 'A key is about to expire.',
  about: 'a key that expires in a number of days, unless it is revoked',
  often: 'once for each number of days; not if the key was created for a shorter time',
  gathers: true,
  keys: {
    days: Type.Array(whole('A number of days before the key expires.', { minimum: 1, maximum: 365 }), {
      minItems: 1,
      maxItems: 8,
      default: [14, 3, 1],
      examples: [[30, 7, 1]],
      description:
        'how many days before a key expires to send an alert. A key that was valid for fewer days from the start causes no alert.',
    }),
  },
  read: ({ days }): KeyRule => ({ days: [...new Set(days)].sort((one, other) => other - one) }),
  find({ days }, { keys }: KeyReadings, found) {
    const { now } = found;
    for (const { id, name, createdAt, expiresAt } of [...keys()].sort((a, b) => a.expiresAt - b.expiresAt)) {
      if (expiresAt <= now) continue;
      // A key that was created to live for only an hour needs no warning that it expires soon.
      const steps = days.filter((one) => one * DAY_MS < expiresAt - createdAt);
      const step = steps.findLast((one) => expiresAt - now <= one * DAY_MS);
      if (step === undefined) continue;
      if (steps.some((one) => one <= step && found.hasNoted([id, expiresAt, one]))) continue;
      found.note([id, expiresAt, step], {
        until: expiresAt + DAY_MS,
        line: `Key ${name} (${id}) expires in ${lengthOf(expiresAt - now)}, at ${day(expiresAt)}.`,
        details: { key_id: id, name, expires_at: iso(expiresAt), days: step },
      });
    }
  },
});
