import { Type } from '@sinclair/typebox';
import * as f from '../core/define/fields.ts';
import { refuse, SignalboxError } from '../core/errors.ts';
import { isEmpty } from '../core/json/object.ts';
import { ADDRESS_FORM, addressOf, isMistypedAddress } from '../core/money/holder-address.ts';
import type { Store } from '../store/store.ts';
import { TRAIL_ACTIONS, TRAIL_LIMIT, TRAIL_LIMIT_MAX, type TrailHead, type TrailTable } from '../store/trail.ts';
import { notFound, type Operation, operationsOn } from './kit/operation.ts';
import { holderOf, type Places } from './use-cases/places.ts';
import { eraseWords, listTrail, verifyTrail } from './use-cases/trail.ts';

/** The services that operations on the audit trail use. */
export interface TrailReader {
  readonly store: { readonly trail: Pick<TrailTable, 'list'> };
}

/** The most characters of a detail in a table. The patch of a policy can have thousands of characters. */
const DETAIL_MAX = 500;

/** Writes a text on a single line, and cuts a long text. */
function shortText(text: string): string {
  const [line = '', ...more] = text.slice(0, DETAIL_MAX).split('\n');
  return more.length > 0 || text.length > DETAIL_MAX ? `${line} …` : line;
}

/** Writes the details of a change, without empty details. */
const detailsText = (details: Readonly<Record<string, unknown>>): string =>
  Object.entries(details)
    .filter(([, value]) => value !== '' && !(typeof value === 'object' && isEmpty(value)))
    .map(([name, value]) => `${name}=${shortText(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join(' ');

type Shown = Readonly<Record<'kind' | 'name' | 'id', string | null>>;

const entry = f.shape('A change.', {
  id: f.count('The number of the entry.', 12),
  time: f.inCommand(f.moment('When.'), { text: f.minuteText }),
  actor: f.inCommand(
    f.shape('Who made the change.', {
      kind: Type.Unsafe<string>(
        f.word(
          ['cli', 'key', 'user', 'token', 'wallet', 'server'],
          'The kind of actor: a command, an admin key, a person, a workload with a token, a wallet with a valid signature, or the server.',
        ),
      ),
      name: f.textOrNull(
        'The actor: a user of the operating system, the ID of an admin key, user or subject, or the address of a wallet.',
        'alice',
      ),
    }),
    { text: ({ kind, name }: Shown) => `${kind} ${name ?? ''}`.trim() },
  ),
  from: f.textOrNull('The IP address of the caller, or the user of the terminal.', 'alice'),
  action: Type.Unsafe<string>(f.word(TRAIL_ACTIONS, 'The kind of change.', 'grant')),
  subject: f.inCommand(
    f.shape('What was changed.', {
      kind: f.text(
        'The kind of thing that was changed, such as `key`, `user`, `team`, `wallet`, `policy` or `trail`.',
        'key',
      ),
      id: f.text(
        'The ID of a key, the address of a wallet, or the revision of a policy; may be empty.',
        'k7mw2pq9x4ta',
      ),
    }),
    { text: ({ kind, id }: Shown) => `${kind} ${id}`.trim() },
  ),
  key_id: f.textOrNull(
    'The ID of the changed key or the address of the changed wallet; null for other changes.',
    'k7mw2pq9x4ta',
  ),
  details: f.inCommand(
    f.mapOf(Type.Unknown(), 'The details of the change. The details never contain a secret.', {
      credits: 25,
      note: 'invoice 1042',
    }),
    { text: detailsText },
  ),
  request_id: f.textOrNull('`x-request-id` of the request that made the change; null if no request did.'),
  is_erased: f.flag('Whether personal data in the entry was erased. Erased values are null.', false),
});
export const KeyTrail = f.named('KeyTrail', 'Changes of keys, people, wallets and the policy.', {
  object: f.always('list'),
  data: f.list(f.onWire(entry), 'The changes, newest first.'),
  has_more: f.flag('Whether older entries match, too.', false),
});

/** The query parameters for a period. */
export const TRAIL_PERIOD = f.allOptional({
  from: f.momentIn(
    'The beginning of the period, such as `2026-11-20` or `2026-11-20T08:00Z`. A day begins at midnight UTC.',
  ),
  to: f.momentIn('The end of the period, which is not included.'),
});

/** The operation of `GET /admin/trail` and `signalbox trail list`. */
const listEntries = operationsOn<TrailReader>()({
  name: 'trail list',
  use: 'to find out who changed a key, a policy or a user.',
  example: 'trail list --kind policy --from 2026-11-01',
  http: 'GET /admin/trail',
  action: 'trail.read',
  summary: 'List the changes in the audit trail',
  details:
    'Lists who changed what, when and from where, newest first. The audit trail records changes by commands and by requests. For the next page, send the last ID of this page as `before`.',
  input: f.closed('Which changes.', {
    subject: f.optional(
      f.inCommand(
        f.text(
          'Only changes of the thing with this ID: of a key, a user, a team, a decision, a payment or a model. For a wallet, its address.',
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
      f.inCommand(f.word(TRAIL_ACTIONS, 'Only changes with this action, such as `grant`.'), { form: 'ACTION' }),
    ),
    ...TRAIL_PERIOD,
    before: f.optional(Type.Integer({ description: 'Only entries before the entry with this ID.' })),
    limit: f.pageSize({ most: TRAIL_LIMIT_MAX, unlessGiven: TRAIL_LIMIT }),
  }),
  output: KeyTrail,
  answer: 'The changes, newest first.',
  errorField: 'limit',
  commandLimit: TRAIL_LIMIT,
  prints: { columns: ['time', 'actor', 'request_id', 'from', 'action', 'subject', 'details'] },
  async run({ store }, { by }, { subject, key, actor, limit = TRAIL_LIMIT, ...filters }) {
    const keyId = subject === undefined ? subjectOf('key', key) : subjectOf('subject', subject);
    const query = { ...filters, keyId, limit, ...(actor !== undefined && { actor: addressOf(actor) ?? actor }) };
    return await listTrail(by, store.trail, query);
  },
});

/** The operation that lists the audit trail, under the name of a command on keys. */
export const KEYS_LOG: Operation<TrailReader> = {
  ...listEntries,
  name: 'keys log',
  use: 'to see who changed a key.',
  example: 'keys log --key k7mw2pq9x4ta',
};

/** Returns an ID unchanged, or the address of a wallet in lower case; null for all. */
function subjectOf(param: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  if (!isMistypedAddress(text)) return addressOf(text) ?? text;
  return refuse(param, `\`${param}\` must be an ID, or the address of a wallet: ${ADDRESS_FORM}.`);
}

/** The services that a check of the audit trail uses. */
export interface TrailVerifier {
  readonly store: { readonly trail: Pick<TrailTable, 'links'> };
  /** The heads of the hash chain that were noted outside the store. Throws a system error if they cannot be read. */
  trailHeads(): readonly TrailHead[];
  readonly verifications: Places;
}

const head = { id: f.count('The number of the entry.', 12), hash: f.text('SHA-256, hex.', 'a3f1…') };

export const TrailReport = f.named('TrailReport', 'Whether the audit trail is unchanged.', {
  object: f.always('trail.report'),
  is_whole: f.flag('True if nothing wrong was found.', true),
  entries: f.count('The entries read.', 12),
  first: f.wholeOrNull('The number of the first entry; null for an empty trail.'),
  head: f.shapeOrNull('The last entry.', head),
  erased: f.count('Entries whose personal data was erased. An entry of the trail records each erasure.', 0),
  confirmed: f.count('Entries whose hash was also noted outside the database.', 1),
  faults: f.list(
    Type.Object({
      id: f.count('The number of the entry.', 7),
      problem: f.text('The problem.', 'it was changed'),
    }),
    'What is wrong; the first 50 faults.',
  ),
  more: f.count('The number of faults that are not listed.', 0),
});

const HEAD = /^(\d{1,15}):([0-9a-f]{64})$/;

/** The operation of `GET /admin/trail/verify`. `signalbox trail verify` also reads files with heads, and needs no server. */
export const verifyEntries = operationsOn<TrailVerifier>()({
  name: 'trail verify',
  command: false,
  http: 'GET /admin/trail/verify',
  action: 'trail.read',
  isLong: true,
  summary: 'Verify the audit trail',
  details:
    'Reads every entry and reports entries that were changed, removed, added or moved. Entries that were cut from the end, or a trail that was computed again, can be noticed only with heads that were noted outside the database. A server runs one verification at a time. During a verification, another request of the same user or key gets 429, and a request of another caller gets 503.',
  input: f.closed('Heads that you noted outside the database.', {
    against: f.optional(
      f.list(
        Type.String({ allOf: [{ pattern: HEAD.source }] }),
        'A head that you noted outside the database, as `id:hash`. You can repeat it. The server always adds the head that it noted itself.',
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
  if (hash === '') refuse('against', '`against` must have the form id:hash, such as 120:9f2c….');
  return { id: Number(id), hash };
}

/** The services that an erasure uses. */
export interface TrailEraser {
  readonly store: Pick<Store, 'commit'> & { readonly trail: Pick<TrailTable, 'erase'> };
}

export const TrailErasure = f.named('TrailErasure', 'An erasure of personal data.', {
  object: f.always('trail.erasure'),
  actor_name: f.orNull(f.text('The value from the request.', 'alice')),
  subject: f.orNull(f.text('The value from the request.')),
});

/** The operation of `POST /admin/trail/erase` and `signalbox trail erase`. */
const eraseEntries = operationsOn<TrailEraser>()({
  name: 'trail erase',
  use: 'when a person asks for the deletion of personal data.',
  example: 'trail erase --by alice --yes',
  http: 'POST /admin/trail/erase',
  action: 'trail.erase',
  summary: 'Erase personal data from the audit trail',
  details:
    'Erases personal data from the audit trail: either the name of an actor, and its IP addresses or terminals, in all its changes; or the names, notes and labels in the changes of one key, user or other subject. The hash chain stays valid, and a new entry records what was erased. The erasure cannot be undone. Of people, only owners may do this. Exports, logs and backups are not changed.',
  input: f.closed(
    'What to erase. Send exactly one of the two members.',
    f.allOptional({
      actor_name: f.inCommand(f.text('The name of an actor, as the audit trail shows it.', 'alice'), {
        flag: 'by',
        form: 'NAME',
      }),
      subject: f.inCommand(
        f.text('The ID of the thing whose changes contain the data, such as the ID of a key.', 'k7mw2pq9x4ta'),
        { form: 'ID' },
      ),
    }),
  ),
  output: TrailErasure,
  answer: 'Done.',
  examples: {
    actor: { summary: 'An actor', value: { actor_name: 'alice' } },
    subject: { summary: 'Personal data in the changes of a key', value: { subject: 'k7mw2pq9x4ta' } },
  },
  errorField: 'actor_name',
  errors: ['not_found'],
  confirmation: 'Erased data cannot be restored.',
  prints: ({ subject }: Readonly<Record<'subject', string | null>>) =>
    subject === null
      ? 'Erased the name and the locations of the actor in all its changes. The hash chain is still valid.\n'
      : 'Erased the names, notes and labels in the changes of the subject. The hash chain is still valid.\n',
  async run({ store }, { by, now }, { actorName, subject }) {
    if ((actorName === undefined) === (subject === undefined)) {
      throw new SignalboxError('missing_field', 'Send either `actor_name` or `subject`.', { param: 'actor_name' });
    }
    const words = actorName === undefined ? { subject: subject ?? '' } : { actorName };
    if (!(await eraseWords(by, store, words, now)))
      notFound('The audit trail has no personal data of this actor or subject.');
    return { actorName: actorName ?? null, subject: subject ?? null };
  },
});

/** The operations that also have a command. */
export const TRAIL_COMMANDS: readonly Operation<TrailReader & TrailEraser>[] = [listEntries, eraseEntries];
