import * as f from '../core/define/fields.ts';
import { GUARD_SIDES } from '../core/policy/guard-texts.ts';
import { COUNTED_PERIOD } from './counted-period.ts';

/** The members of a guard's failure. */
export const GUARD_FAILURE = {
  since: f.moment('When the first of these requests ended.', '2026-11-20T09:30:00.000Z'),
  failures: f.count('The number of requests in a row at which it failed.', 12),
  error: f.orNull(f.text('The last error; null if you are no operator.', 'Unable to connect')),
  request_id: f.as('requestId', f.text('The last request at which it failed.', 'req_0a4x1wm3zj8')),
};

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
  requests: f.count('Requests to which the guard applies, also if an earlier guard refused them.', 1_204),
  matched,
  blocked: f.count('Requests that the guard refused, or whose answer it ended.', 0),
  masked: f.count('Requests in which the guard masked something.', 12),
  repaired: f.count('Requests whose answer the guard repaired.', 0),
  flagged: f.count(
    'Requests in which the guard only counted a match. With `on_match: block`, the guard would have blocked them.',
    0,
  ),
  failed: f.count('Requests that the guard could not inspect.', 0),
  failing: f.orNull(
    f.inCommand(f.shape('How it fails.', GUARD_FAILURE), {
      text: ({ error, request_id }: Readonly<Record<'error' | 'request_id', string | null>>) =>
        `${error ?? 'yes'} (${request_id})`,
    }),
    'Not null while the guard fails at every request to this server. Null without a server.',
  ),
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
  ...COUNTED_PERIOD,
  requests: f.count('Requests that were counted, also refused requests and requests that no guard inspects.', 2_310),
  data: f.list(Guard, 'The guards in the order of the policy, and then guards of earlier policies.'),
});
