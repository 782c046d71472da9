import { refuse } from '../core/errors.ts';
import { GUARD_SIDES, type GuardRule } from '../core/policy/guards.ts';
import { DAY_MS } from '../core/time/clock.ts';
import { type DecisionReader, keysIn } from './decisions.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import { countGuards } from './use-cases/guards.ts';
import { checkShown } from './use-cases/sight.ts';

/** The services that count what guards found. */
export interface GuardServices extends Pick<DecisionReader, 'sightOf' | 'ownersOf' | 'records'> {
  /** The guards of the active policy; empty if it is not known. */
  guards(): readonly GuardRule[];
}

const matched = f.count('Requests in which the guard found something.', 12);

const Guard = f.named('Guard', 'A guard, and what it found in the requests of the period.', {
  name: f.text('The name of the guard in the policy.', 'personal-data'),
  guard: f.as(
    'plugin',
    f.orNull(f.text('The plugin. Null for a guard that is not in the active policy.', 'personal-data')),
  ),
  on: f.orNull(
    f.list(f.word(GUARD_SIDES, 'A side.'), '`input`: it inspects requests. `output`: it inspects answers.', {
      examples: [['input', 'output']],
    }),
  ),
  on_match: f.orNull(f.word(['block', 'mask', 'flag'], 'What happens with a match.', 'mask')),
  is_conditional: f.orNull(f.flag('Whether the guard has a `when`, so that it inspects only some requests.', false)),
  file: f.orNull(f.text('The file of the policy that has the guard.', 'guards.yaml')),
  line: f.orNull(f.count('The line in that file.', 3)),
  requests: f.count('Requests that the guard inspects.', 1_204),
  matched,
  blocked: f.count('Requests that the guard refused, or whose answer it ended.', 0),
  masked: f.count('Requests in which the guard masked something.', 12),
  flagged: f.count(
    'Requests in which the guard only counted a match. With `on_match: block`, the guard would have blocked them.',
    0,
  ),
  failed: f.count('Requests that the guard could not inspect.', 0),
  keys: f.list(
    f.inCommand(
      f.shape('A key.', {
        id: f.orNull(f.text('The ID of the key; null if you ask with a key with the scope `report`.', 'k7mw2pq9x4ta')),
        name: f.orNull(f.text('The name of the key.', 'search')),
        matched,
      }),
      { text: ({ id, name }: { readonly id: string | null; readonly name: string | null }) => name ?? id ?? '' },
    ),
    'The keys with the most requests with a match, at most 5.',
  ),
  models: f.list(
    f.inCommand(
      f.shape('A model.', {
        id: f.text('The ID of the model that was tried last.', 'gpt-6-luna'),
        matched,
      }),
      { text: ({ id }: { readonly id: string }) => id },
    ),
    'The models of the most requests with a match, at most 5. Requests that were refused before a decision have no model.',
  ),
});

export const GuardList = f.named('GuardList', 'The guards of the policy, and what they found.', {
  object: f.always('list'),
  from: f.moment('The beginning of the period.'),
  to: f.moment('The end of the period.', '2026-11-21T08:00:00.000Z'),
  counted_from: f.orNull(
    f.moment(
      'The server counts about 100,000 requests, the newest first. If the period has more, the moment of the oldest request that it counted; null if it counted all.',
    ),
    undefined,
    null,
  ),
  requests: f.count('Requests that were counted, also refused requests and requests that no guard inspects.', 2_310),
  data: f.list(Guard, 'The guards in the order of the policy, and then guards of earlier policies.'),
});

interface Report {
  readonly from: string;
  readonly to: string;
  readonly counted_from: string | null;
  readonly requests: number;
}

/** The operation of `GET /admin/guards` and `signalbox guards list`. */
export const listGuards = operationsOn<GuardServices>()({
  name: 'guards list',
  http: 'GET /admin/guards',
  action: 'decisions.list',
  summary: 'List guards and what they found',
  details:
    'Lists the guards of the active policy, and in how many requests each guard found something, blocked, masked or only counted. The figures come from the records of requests, the newest first, up to about 100,000 records; `counted_from` says if there are more. Recommendations have no verdicts in their records, so they are missing. Members see the requests of their own keys. Leads see the requests of keys of their team. Without a server, the command does not know the policy, so it lists only the guards that are in records.',
  input: f.body('Which requests.', {
    ...f.allOptional({
      from: f.momentIn('The beginning of the period, by default 24 hours before its end.'),
      to: f.momentIn('The end of the period, by default now.'),
      key: f.inCommand(f.text('Only requests of this key: its ID or name, or the address of a wallet.'), {
        form: 'ID',
      }),
      team: f.inCommand(f.text('Only requests of keys that belonged to this team: its ID or name.'), { form: 'ID' }),
      user: f.inCommand(
        f.text(
          'Only requests of keys that belonged to this user: its ID or email address. Not available with a key with the scope `report`.',
        ),
        { form: 'ID' },
      ),
      model: f.inCommand(f.text('Only requests for which this model was tried last.'), { form: 'ID' }),
    }),
  }),
  output: GuardList,
  answer: 'The guards.',
  errorField: 'to',
  prints: {
    columns: [
      ...['name', 'guard', 'on', 'on_match', 'requests', 'matched', 'blocked', 'masked', 'flagged', 'failed'],
      ...['keys', 'models'],
    ],
    sum: ({ from, to, counted_from, requests }: Report) => {
      const start = counted_from ?? from;
      const more = counted_from === null ? '' : ' Earlier requests of the period are not counted.';
      return `${requests} requests from ${f.minuteText(start)} to ${f.minuteText(to)}.${more}\n`;
    },
  },
  async run({ records, sightOf, ownersOf, guards }, { by, now }, { from, to = now, key, team, user, model }) {
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
    const { data, ...counted } = await countGuards(by, records, query, { sight, rules: guards() });
    return { from: start, to, ...counted, data };
  },
});
