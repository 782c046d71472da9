import * as f from '../core/define/fields.ts';
import { refuse } from '../core/errors.ts';
import { isSubject, SUBJECT, SUBJECT_FORM } from '../core/people/subject.ts';
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

export const Subject = f.named(
  'Subject',
  'A workload that authenticates with tokens of an issuer instead of an API key.',
  {
    object: f.always('subject'),
    id: f.text('The ID of the subject in usage, decisions and logs.', 'subject_5d0c4f1ab2e39487c6d10f3b8a7e2946'),
    name: f.text('The name of the subject’s issuer in the policy.', 'github'),
    issuer: f.text('The claim `iss` of the subject’s tokens.', 'https://token.actions.githubusercontent.com'),
    sub: f.text('The claim `sub` of the subject’s tokens.', 'repo:acme/app:ref:refs/heads/main'),
    first_seen_at: f.as('firstSeen', f.moment('When the subject’s first token was checked.')),
    last_seen_at: f.as(
      'lastSeen',
      f.moment('When the subject’s last new token was checked. Each token is checked only once.'),
    ),
    is_blocked: f.flag('Whether the subject’s tokens are refused.', false),
  },
);
export const SubjectList = f.named('SubjectList', 'Subjects.', {
  object: f.always('list'),
  data: f.list(Subject, 'The newest first.'),
  has_more: f.flag('Whether older subjects follow. To get them, repeat the request with `before`.', false),
});

// The error does not repeat the ID, because the caller may have sent a token by mistake.
const found = async ({ by, id }: Call, source: SubjectSource) =>
  (await findSubject(by, source, id)) ?? notFound('No subject with this ID has sent a token.');

/** The operations of `/admin/subjects` and `signalbox subjects`: list workloads that send tokens, and block them. */
export const SUBJECT_OPERATIONS = [
  operation({
    name: 'subjects list',
    use: 'to find the ID of a workload that sends tokens.',
    example: 'subjects list --limit 20',
    http: 'GET /admin/subjects',
    action: 'subjects.read',
    summary: 'List the subjects of tokens',
    details:
      'Lists the workloads that have sent a token instead of an API key. The workload with the newest first token comes first.',
    input: f.closed('Which subjects.', {
      limit: f.pageSize({ most: SUBJECT_LIMIT_MAX, unlessGiven: SUBJECT_LIMIT }),
      before: f.optional(
        f.formed('Only subjects that come after the subject with this ID in the list.', { pattern: SUBJECT.source }),
      ),
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
    use: 'to see which workload an ID stands for.',
    example: 'subjects show subject_4f1d2c3b5a69788796a5b4c3d2e1f001',
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
    use: 'to stop a workload, because Signalbox cannot revoke its tokens.',
    example: 'subjects block subject_4f1d2c3b5a69788796a5b4c3d2e1f001 --note "runaway job"',
    http: 'POST /admin/subjects/:id/block',
    action: 'subjects.change',
    summary: 'Block a subject',
    details:
      'Blocks a subject at once: requests with its current and future tokens get 403. Requests in progress continue. Blocking it again replaces the note. The audit trail records the change.',
    input: f.closed('Why the subject is blocked.', {
      note: f.optional(terms.keptText('A note that is stored with the block.', 'leaked token, ticket 88')),
    }),
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
    use: 'to let a blocked workload continue.',
    example: 'subjects unblock subject_4f1d2c3b5a69788796a5b4c3d2e1f001',
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
