import { iso } from '../../time/clock.ts';
import { defineAlert } from './define.ts';
import { lengthOf } from './words.ts';

/** The last refusal of a policy edit; null if the last edit was accepted. */
export interface PolicyRefusal {
  /** The reason for the alert, in one sentence. */
  readonly message: string;
  /** `file:line:column code: message` of the first error; null for none. */
  readonly first: string | null;
  /** ms since 1970 */
  readonly time: number;
}

interface RefusalReadings {
  readonly refusal: PolicyRefusal | null;
}

export const policyRefused = defineAlert({
  on: 'policy_refused',
  means: 'An edit of the policy was refused.',
  about: 'a refused edit of the policy, with its first mistake',
  often: 'at the beginning and at the end',
  keys: {},
  read: () => ({}),
  find(_, { refusal }: RefusalReadings, found) {
    const first = refusal?.first ?? refusal?.message ?? '';
    found.noteLasting(['policy'], {
      isDown: refusal !== null,
      down: `An edit of the policy was refused. The previous policy stays active. ${first}`.trim(),
      up: (ms) => `The policy's files are active again, after ${lengthOf(ms)}.`,
      details: refusal
        ? { message: refusal.message, first: refusal.first, time: iso(refusal.time) }
        : { message: null, first: null, time: null },
    });
  },
});
