import { Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';
import { TRAIL_ACTIONS } from '../../store/trail.ts';

export const KeyTrail = field.named('KeyTrail', 'Changes of keys, people, wallets and the policy.', {
  ...field.listOf(
    Type.Object({
      id: field.count('The number of the entry.', 12),
      time: field.moment('When.'),
      actor: field.shape('The actor of the change.', {
        kind: field.word(
          ['cli', 'key', 'user', 'token', 'wallet', 'server'],
          'A command, an admin key, a person, a token of a workload, a wallet with a valid signature, or the server.',
        ),
        name: field.textOrNull(
          'The user of the operating system, the ID of the admin key, the user or the subject, or the wallet’s address.',
          'alice',
        ),
      }),
      from: field.textOrNull('The address of the caller, or the user of the terminal.', 'alice'),
      action: field.word(TRAIL_ACTIONS, 'The kind of change.', 'grant'),
      subject: field.shape('The thing that was changed.', {
        kind: field.text('Such as `key`, `user`, `team`, `wallet`, `policy` or `trail`.', 'key'),
        id: field.text('The ID of a key, the address of a wallet, the revision of a policy, or empty.', 'k7mw2pq9x4ta'),
      }),
      key_id: field.textOrNull('The same of a key or a wallet; else null.', 'k7mw2pq9x4ta'),
      details: field.mapOf(Type.Unknown(), 'The details of the change; never a secret.', {
        credits: 25,
        note: 'invoice 1042',
      }),
      request_id: field.textOrNull('`x-request-id` of the request; null for another actor.'),
      is_erased: field.flag('Whether personal words of it were erased; they are null.', false),
    }),
    'Newest first.',
  ),
  has_more: field.flag('Whether older entries match, too.', false),
});

const head = { id: field.count('The number of the entry.', 12), hash: field.text('SHA-256, hex.', 'a3f1…') };

export const TrailReport = field.named('TrailReport', 'Whether the trail is as it was written.', {
  object: field.always('trail.report'),
  is_whole: field.flag('Whether nothing wrong was found.', true),
  entries: field.count('The entries read.', 12),
  first: field.wholeOrNull('The first entry; null for none.'),
  head: field.shapeOrNull('The last entry.', head),
  erased: field.count('Entries whose personal words were erased, by an entry that says so.', 0),
  confirmed: field.count('Entries whose hash was noted elsewhere.', 1),
  faults: field.rows('What is wrong, the first 50.', {
    id: field.count('The number of the entry.', 7),
    problem: field.text('The problem.', 'it was changed'),
  }),
  more: field.count('Faults that are not listed.', 0),
});

/** The body of `POST /admin/trail/erase`. */
export const EraseRequest = field.partialBody('What to erase: one of the two.', {
  actor_name: field.text('The name of an actor, as the trail shows it.', 'alice'),
  subject: field.text('The ID of a subject.', 'k7mw2pq9x4ta'),
});

export const TrailErasure = field.named('TrailErasure', 'An erasure of words.', {
  object: field.always('trail.erasure'),
  actor_name: field.textOrNull('As it was sent.', 'alice'),
  subject: field.textOrNull('As it was sent.'),
});
