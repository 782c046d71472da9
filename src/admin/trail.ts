import { Type } from '@sinclair/typebox';
import * as parts from '../core/api/parts.ts';
import { refuse, SignalboxError } from '../core/errors.ts';
import { ADDRESS_FORM, addressOf, isMistypedAddress } from '../core/holder-address.ts';
import { isEmpty } from '../core/object.ts';
import type { Store } from '../store/store.ts';
import { TRAIL_ACTIONS, TRAIL_LIMIT, TRAIL_LIMIT_MAX, type TrailHead, type TrailTable } from '../store/trail.ts';
import * as f from './kit/fields.ts';
import { notFound, type Operation, operationsOn } from './kit/operation.ts';
import { holderOf, type Places } from './use-cases/places.ts';
import { eraseWords, listTrail, verifyTrail } from './use-cases/trail.ts';

/** The services that operations on the trail use. */
export interface TrailReader {
  readonly store: { readonly trail: Pick<TrailTable, 'list'> };
}

/** Characters of a detail in a table: the patch of a policy has thousands. */
const DETAIL_MAX = 500;

/** A text in one line, cut where it is long. */
function shortText(text: string): string {
  const [line = '', ...more] = text.slice(0, DETAIL_MAX).split('\n');
  return more.length > 0 || text.length > DETAIL_MAX ? `${line} …` : line;
}

/** The details of a change, without the empty ones. */
const detailsText = (details: Readonly<Record<string, unknown>>): string =>
  Object.entries(details)
    .filter(([, value]) => value !== '' && !(typeof value === 'object' && isEmpty(value)))
    .map(([name, value]) => `${name}=${shortText(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join(' ');

type Shown = Readonly<Record<'kind' | 'name' | 'id', string | null>>;

const entry = parts.shape('A change.', {
  id: parts.count('The number of the entry.', 12),
  time: f.inCommand(parts.moment('When.'), { text: f.minuteText }),
  actor: f.inCommand(
    parts.shape('The actor of the change.', {
      kind: Type.Unsafe<string>(
        parts.word(
          ['cli', 'key', 'user', 'token', 'wallet', 'server'],
          'A command, an admin key, a person, a token of a workload, a wallet with a valid signature, or the server.',
        ),
      ),
      name: parts.textOrNull(
        'The user of the operating system, the ID of the admin key, the user or the subject, or the wallet’s address.',
        'alice',
      ),
    }),
    { text: ({ kind, name }: Shown) => `${kind} ${name ?? ''}`.trim() },
  ),
  from: parts.textOrNull('The address of the caller, or the user of the terminal.', 'alice'),
  action: Type.Unsafe<string>(parts.word(TRAIL_ACTIONS, 'The kind of change.', 'grant')),
  subject: f.inCommand(
    parts.shape('The thing that was changed.', {
      kind: parts.text('Such as `key`, `user`, `team`, `wallet`, `policy` or `trail`.', 'key'),
      id: parts.text('The ID of a key, the address of a wallet, the revision of a policy, or empty.', 'k7mw2pq9x4ta'),
    }),
    { text: ({ kind, id }: Shown) => `${kind} ${id}`.trim() },
  ),
  key_id: parts.textOrNull('The same of a key or a wallet; else null.', 'k7mw2pq9x4ta'),
  details: f.inCommand(
    parts.mapOf(Type.Unknown(), 'The details of the change; never a secret.', { credits: 25, note: 'invoice 1042' }),
    { text: detailsText },
  ),
  request_id: parts.textOrNull('`x-request-id` of the request; null for another actor.'),
  is_erased: parts.flag('Whether personal words of it were erased; they are null.', false),
});
export const KeyTrail = f.named('KeyTrail', 'Changes of keys, people, wallets and the policy.', {
  object: f.always('list'),
  data: f.list(entry, 'Newest first.'),
  has_more: f.flag('Whether older entries match, too.', false),
});

/** The period of entries, in a query. */
export const TRAIL_PERIOD = f.allOptional({
  from: f.momentIn('The first moment, such as `2026-11-20` or `2026-11-20T08:00Z`. A day begins at midnight UTC.'),
  to: f.momentIn('The moment after the last one.'),
});

/** `GET /admin/trail` and `signalbox trail list`. */
export const listEntries = operationsOn<TrailReader>()({
  name: 'trail list',
  http: 'GET /admin/trail',
  action: 'trail.read',
  summary: 'List changes',
  details:
    'Lists who changed what, when, from where, and how, by command or by request. For the next page send `before` with the last ID of this one.',
  input: f.body('Which changes.', {
    subject: f.optional(
      f.inCommand(
        f.text(
          'Only changes of the subject with this ID: of a key, a user, a team, a decision, a payment or a model; or the address of a wallet.',
        ),
        { form: 'ID' },
      ),
    ),
    key: f.optional(f.inCommand(f.text('The same as `subject`.'), { form: 'ID' })),
    kind: f.optional(f.text('Only changes of this kind of subject, such as `wallet`.')),
    actor: f.optional(
      f.inCommand(f.text('Only changes by actors of this kind, such as `server`, or with this name, ID or address.'), {
        flag: 'by',
        form: 'NAME',
      }),
    ),
    action: f.optional(
      f.inCommand(f.word(TRAIL_ACTIONS, 'Only changes of this kind, such as `grant`.'), { form: 'ACTION' }),
    ),
    ...TRAIL_PERIOD,
    before: f.optional(Type.Integer({ description: 'Only entries before the one with this ID.' })),
    limit: f.pageSize({ most: TRAIL_LIMIT_MAX, unlessGiven: TRAIL_LIMIT }),
  }),
  output: KeyTrail,
  answer: 'Newest first.',
  errorField: 'limit',
  commandLimit: TRAIL_LIMIT,
  prints: { columns: ['time', 'actor', 'request_id', 'from', 'action', 'subject', 'details'] },
  async run({ store }, { by }, { subject, key, actor, limit = TRAIL_LIMIT, ...filters }) {
    const keyId = subject === undefined ? subjectOf('key', key) : subjectOf('subject', subject);
    const query = { ...filters, keyId, limit, ...(actor !== undefined && { actor: addressOf(actor) ?? actor }) };
    return await listTrail(by, store.trail, query);
  },
});

/** The same by the name that it has among the commands on keys. */
export const KEYS_LOG: Operation<TrailReader> = { ...listEntries, name: 'keys log' };

/** The ID of a subject as it is, or the address of a wallet in lower case; null for all. */
function subjectOf(param: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  if (!isMistypedAddress(text)) return addressOf(text) ?? text;
  return refuse(param, `\`${param}\` must be an ID, or the address of a wallet: ${ADDRESS_FORM}.`);
}

/** What a check of the trail works with. */
export interface TrailVerifier {
  readonly store: { readonly trail: Pick<TrailTable, 'links'> };
  /** The heads that were noted outside the store. Throws the system's error. */
  trailHeads(): readonly TrailHead[];
  readonly verifications: Places;
}

const head = { id: parts.count('The number of the entry.', 12), hash: parts.text('SHA-256, hex.', 'a3f1…') };

export const TrailReport = f.named('TrailReport', 'Whether the trail is as it was written.', {
  object: f.always('trail.report'),
  is_whole: f.flag('Whether nothing wrong was found.', true),
  entries: f.count('The entries read.', 12),
  first: parts.wholeOrNull('The first entry; null for none.'),
  head: parts.shapeOrNull('The last entry.', head),
  erased: f.count('Entries whose personal words were erased, by an entry that says so.', 0),
  confirmed: f.count('Entries whose hash was noted elsewhere.', 1),
  faults: f.list(
    Type.Object({
      id: parts.count('The number of the entry.', 7),
      problem: parts.text('The problem.', 'it was changed'),
    }),
    'What is wrong, the first 50.',
  ),
  more: f.count('Faults that are not listed.', 0),
});

const HEAD = /^(\d{1,15}):([0-9a-f]{64})$/;

/** `GET /admin/trail/verify`. `signalbox trail verify` reads files of heads, and needs no server. */
const verifyEntries = operationsOn<TrailVerifier>()({
  name: 'trail verify',
  command: false,
  http: 'GET /admin/trail/verify',
  action: 'trail.read',
  isLong: true,
  summary: 'Verify the trail',
  details:
    'Reads every entry, and says where one was changed, removed, added or moved. Only heads that were noted elsewhere show that nothing was cut from the end, or computed anew. A server verifies for one request at a time: until that is done, another request of the same user or key gets 429, and a request of anyone else 503.',
  input: f.body('What else is known of the trail.', {
    against: f.optional(
      f.list(
        Type.String({ allOf: [{ pattern: HEAD.source }] }),
        'A head that was noted elsewhere, as `id:hash`. It may be repeated. The note of the server itself is always among them.',
      ),
    ),
  }),
  output: TrailReport,
  answer: 'The report.',
  errorField: 'against',
  async run({ store, trailHeads, verifications }, { by }, { against = [] }) {
    const known = against.map(headOf);
    const leave = verifications.enter(holderOf(by.caller));
    try {
      const report = await verifyTrail(by, store.trail, [...trailHeads(), ...known]);
      return { isWhole: report.faults.length === 0, ...report };
    } finally {
      leave();
    }
  },
});

function headOf(text: string): TrailHead {
  const [, id = '', hash = ''] = HEAD.exec(text) ?? [];
  if (hash === '') refuse('against', '`against` must have the form id:hash, as a head is noted.');
  return { id: Number(id), hash };
}

/** What an erasure works with. */
export interface TrailEraser {
  readonly store: Pick<Store, 'commit'> & { readonly trail: Pick<TrailTable, 'erase'> };
}

export const TrailErasure = f.named('TrailErasure', 'An erasure of words.', {
  object: f.always('trail.erasure'),
  actor_name: f.orNull(f.text('As it was sent.', 'alice')),
  subject: f.orNull(f.text('As it was sent.')),
});

/** `POST /admin/trail/erase` and `signalbox trail erase`. */
export const eraseEntries = operationsOn<TrailEraser>()({
  name: 'trail erase',
  http: 'POST /admin/trail/erase',
  action: 'trail.erase',
  summary: 'Erase personal words',
  details:
    'Erases the name of an actor and where it was in all its changes, or the names, notes and labels in the changes of a subject. The chain stays whole, and an entry says which words were erased. It cannot be undone. Of people, only owners may do it. Exports, logs and backups keep what they have.',
  input: f.body(
    'What to erase: one of the two.',
    f.allOptional({
      actor_name: f.inCommand(f.text('The name of an actor, as the trail shows it.', 'alice'), {
        flag: 'by',
        form: 'NAME',
      }),
      subject: f.inCommand(f.text('The ID of a subject.', 'k7mw2pq9x4ta'), { form: 'ID' }),
    }),
  ),
  output: TrailErasure,
  answer: 'Done.',
  examples: {
    actor: { summary: 'An actor', value: { actor_name: 'alice' } },
    subject: { summary: 'The words in the changes of a key', value: { subject: 'k7mw2pq9x4ta' } },
  },
  errorField: 'actor_name',
  errors: ['not_found'],
  confirmation: 'Erased words cannot be restored.',
  prints: ({ subject }: Readonly<Record<'subject', string | null>>) =>
    subject === null
      ? 'Erased the name of the actor and where it was, in all its changes. The chain is whole.\n'
      : 'Erased the names, notes and labels in the changes of the subject. The chain is whole.\n',
  async run({ store }, { by, now }, { actorName, subject }) {
    if ((actorName === undefined) === (subject === undefined)) {
      throw new SignalboxError('missing_field', 'State either `actor_name` or `subject`.', { param: 'actor_name' });
    }
    const words = actorName === undefined ? { subject: subject ?? '' } : { actorName };
    if (!(await eraseWords(by, store, words, now))) notFound('The trail has no such words.');
    return { actorName: actorName ?? null, subject: subject ?? null };
  },
});

/** The operations that are commands, too. */
export const TRAIL_COMMANDS: readonly Operation<TrailReader & TrailEraser>[] = [listEntries, eraseEntries];
/** `/admin/trail`. */
export const TRAIL_OPERATIONS: readonly Operation<TrailReader & TrailEraser & TrailVerifier>[] = [
  ...TRAIL_COMMANDS,
  verifyEntries,
];
