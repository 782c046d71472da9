import { refuse } from '../core/errors.ts';
import { isSubject, SUBJECT, SUBJECT_FORM } from '../core/subject.ts';
import * as f from './kit/fields.ts';
import { type Call, notFound, operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import {
  blockSubject,
  findSubject,
  listSubjects,
  SUBJECT_LIMIT,
  SUBJECT_LIMIT_MAX,
  type SubjectSource,
  unblockSubject,
} from './use-cases/subjects.ts';

/** The services that operations on subjects of tokens use. */
export interface SubjectServices {
  subjects(): SubjectSource;
}
const operation = operationsOn<SubjectServices>();

export const Subject = f.named('Subject', 'A workload that sends tokens of an issuer in place of a key.', {
  object: f.always('subject'),
  id: f.text('Names it in usage, decisions and logs.', 'subject_5d0c4f1ab2e39487c6d10f3b8a7e2946'),
  name: f.text('The name of its issuer in the policy.', 'github'),
  issuer: f.text('`iss` of its tokens.', 'https://token.actions.githubusercontent.com'),
  sub: f.text('`sub` of its tokens.', 'repo:acme/app:ref:refs/heads/main'),
  first_seen_at: f.as('firstSeen', f.moment('When its first token was checked.')),
  last_seen_at: f.as('lastSeen', f.moment('When its last token was checked. A token is checked once.')),
  is_blocked: f.flag('Whether its tokens are refused.', false),
});
export const SubjectList = f.named('SubjectList', 'Subjects.', {
  object: f.always('list'),
  data: f.list(Subject, 'The newest first.'),
  has_more: f.flag('Whether there are older ones. To get them, repeat the request with `before`.', false),
});

// The ID is not repeated: somebody may have put a token in its place.
const found = async ({ by, id }: Call, source: SubjectSource) =>
  (await findSubject(by, source, id)) ?? notFound('No subject with this ID has sent a token.');

/** `/admin/subjects` and `signalbox subjects`: the workloads that send tokens, and blocking them. */
export const SUBJECT_OPERATIONS = [
  operation({
    name: 'subjects list',
    http: 'GET /admin/subjects',
    action: 'subjects.read',
    summary: 'List the subjects of tokens',
    details: 'Lists the workloads that have sent a token in place of a key, by their first token, newest first.',
    input: f.body('Which subjects.', {
      limit: f.pageSize({ most: SUBJECT_LIMIT_MAX, unlessGiven: SUBJECT_LIMIT }),
      before: f.optional(f.formed('Only those after the subject with this ID.', { pattern: SUBJECT.source })),
    }),
    output: SubjectList,
    answer: 'The subjects.',
    errorField: 'limit',
    prints: { columns: ['id', 'name', 'sub', 'last_seen_at', 'is_blocked'] },
    async run({ subjects }, { by }, { limit = SUBJECT_LIMIT, before = null }) {
      if (before !== null && !isSubject(before))
        refuse('before', `\`before\` must be the ID of a subject: ${SUBJECT_FORM}.`);
      return await listSubjects(by, subjects(), { limit, before });
    },
  }),
  operation({
    name: 'subjects show',
    http: 'GET /admin/subjects/:id',
    action: 'subjects.read',
    summary: 'Show a subject',
    details: 'Returns a subject with its issuer.',
    output: Subject,
    answer: 'The subject.',
    run: ({ subjects }, call) => found(call, subjects()),
  }),
  operation({
    name: 'subjects block',
    http: 'POST /admin/subjects/:id/block',
    action: 'subjects.change',
    summary: 'Block a subject',
    details:
      'Blocks a subject at once: all its tokens get 403, future ones as well. Requests in progress continue. Blocking it again replaces the note. `/admin/trail` records it.',
    input: f.body('Why.', { note: f.optional(terms.keptText('A note, stored with it.', 'leaked token, ticket 88')) }),
    output: Subject,
    answer: 'The subject.',
    differs: { is_blocked: true },
    examples: { plain: { summary: 'With the reason', value: { note: 'leaked token, ticket 88' } } },
    errorField: 'note',
    prints: (_, id) => `Blocked ${id}. Its tokens are refused until you unblock it.\n`,
    async run({ subjects }, call, { note = '' }) {
      await blockSubject(call.by, subjects(), call.id, note);
      return found(call, subjects());
    },
  }),
  operation({
    name: 'subjects unblock',
    http: 'POST /admin/subjects/:id/unblock',
    action: 'subjects.change',
    summary: 'Unblock a subject',
    details: 'Accepts the tokens of a subject again. Unblocking it again changes nothing.',
    output: Subject,
    answer: 'The subject.',
    prints: (_, id) => `Unblocked ${id}.\n`,
    async run({ subjects }, call) {
      await unblockSubject(call.by, subjects(), call.id);
      return found(call, subjects());
    },
  }),
];
