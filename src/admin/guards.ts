import * as f from '../core/define/fields.ts';
import { refuse } from '../core/errors.ts';
import type { GuardRule } from '../core/policy/guards.ts';
import { plural } from '../core/text/text.ts';
import { DAY_MS } from '../core/time/clock.ts';
import type { GuardHealth } from '../gateway/guards/guard-health.ts';
import { COUNTED_INPUT, type DecisionReader, keysIn } from './decisions.ts';
import { GuardList } from './guard-list.ts';
import { operationsOn } from './kit/operation.ts';
import { countGuards } from './use-cases/guards.ts';
import { holderOf, type Places } from './use-cases/places.ts';
import { checkShown } from './use-cases/sight.ts';

/** The services that count what guards found. */
export interface GuardServices extends Pick<DecisionReader, 'sightOf' | 'ownersOf' | 'records'> {
  /** The guards of the active policy; empty if it is not known. */
  guards(): readonly GuardRule[];
  /** Which guards fail; null without a server. */
  readonly guardHealth?: Pick<GuardHealth, 'of'> | null;
  /** Limits how many counts run at the same time. */
  readonly counts: Places;
}

interface Report {
  readonly from: string;
  readonly to: string;
  readonly counted_from: string | null;
  readonly requests: number;
}

/** The operation of `GET /admin/guards` and `signalbox guards list`. */
export const listGuards = operationsOn<GuardServices>()({
  name: 'guards list',
  use: 'to see what guards find, for example before a guard that only counts begins to block.',
  example: 'guards list --from 2026-11-20',
  http: 'GET /admin/guards',
  action: 'decisions.list',
  summary: 'List guards and what they found',
  details:
    'Lists the guards of the active policy, and in how many requests each guard found something, blocked, masked or only counted. The figures come from the records of requests, the newest first, up to about 100,000 records; `counted_from` says if there are more. A user or key can run 4 counts at once, and a server 8. Recommendations have no verdicts in their records, so they are missing. Members see the requests of their own keys. Leads see the requests of keys of their team. Without a server, the command does not know the policy, so it lists only the guards that are in records.',
  input: COUNTED_INPUT,
  output: GuardList,
  answer: 'The guards.',
  errorField: 'to',
  prints: {
    columns: [
      ...[
        'name',
        'guard',
        'on',
        'on_match',
        'requests',
        'matched',
        'blocked',
        'masked',
        'repaired',
        'flagged',
        'failed',
      ],
      ...['failing', 'keys', 'models'],
    ],
    sum: ({ from, to, counted_from, requests }: Report) => {
      const start = counted_from ?? from;
      const more = counted_from === null ? '' : ' Earlier requests of the period are not counted.';
      return `${plural(requests, 'request')} from ${f.minuteText(start)} to ${f.minuteText(to)}.${more}\n`;
    },
  },
  errors: ['rate_limit_exceeded', 'overloaded'],
  async run(
    { records, sightOf, ownersOf, guards, guardHealth, counts },
    { by, now },
    { from, to = now, key, team, user, model },
  ) {
    const sight = sightOf(by);
    checkShown(sight, { user });
    const start = from ?? to - DAY_MS;
    if (start >= to) refuse('to', '`to` must be later than `from`.');
    const query = {
      ...{ from: start, to },
      ...(model !== undefined && { model }),
      ...(await keysIn(key, sight)),
      ...ownersOf(by, { team, user }),
    };
    const leave = counts.enter(holderOf(by.caller));
    const { data, ...counted } = await countGuards(by, records, query, {
      sight,
      rules: guards(),
      health: guardHealth ?? null,
    }).finally(leave);
    return { from: start, to, ...counted, data };
  },
});
