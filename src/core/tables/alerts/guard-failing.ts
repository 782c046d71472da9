import { defineAlert } from './define.ts';
import { afterSeconds } from './keys.ts';
import { lengthOf } from './words.ts';

/** A guard that has failed at every request and answer since `since`. */
export interface FailingGuard {
  /** The number of requests in a row at which the guard failed. */
  readonly failures: number;
  /** When the first of them ended, ms since 1970. */
  readonly since: number;
  /** The reason of the last failure. */
  readonly error: string;
  /** `req_…` of the last request at which the guard failed. */
  readonly requestId: string;
}

/** A guard of the policy. */
export interface GuardReading {
  readonly name: string;
  /** Null if the guard works, or has not run yet. */
  readonly failing: FailingGuard | null;
}

interface GuardReadings {
  readonly guards: readonly GuardReading[];
}

export const guardFailing = defineAlert({
  on: 'guard_failing',
  means: 'A guard fails at every request, for example because its service is down.',
  about: 'a guard that has failed at every request for `after_seconds`',
  often: 'at the beginning and at the end',
  keys: { after_seconds: afterSeconds('seconds in which the guard failed at every request.') },
  read: ({ after_seconds: after }) => ({ afterMs: after * 1_000 }),
  find({ afterMs }, { guards }: GuardReadings, found) {
    for (const { name, failing } of guards) {
      const isDown = failing !== null && found.now - failing.since >= afterMs;
      found.noteLasting(['guard', name], {
        isDown: isDown || (failing === null ? false : null),
        down: failing ? failingText(name, failing, found.now) : '',
        up: (ms) => `Guard ${name} works again. The alert was sent ${lengthOf(ms)} ago.`,
        details: { guard: name, error: failing?.error ?? null, request_id: failing?.requestId ?? null },
      });
    }
  },
});

const failingText = (name: string, { error, since, requestId }: FailingGuard, now: number): string =>
  `Guard ${name} has failed at every request for ${lengthOf(now - since)}. The last error, of ${requestId}: ${error}`;
