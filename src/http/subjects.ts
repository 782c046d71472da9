import { Elysia, t } from 'elysia';
import { inTerms, orNothingDone } from '../admin/kit/refusals.ts';
import { SignalboxError } from '../core/errors.ts';
import { isSubject, SUBJECT, SUBJECT_FORM } from '../core/subject.ts';
import {
  blockSubject,
  findSubject,
  listSubjects,
  SUBJECT_LIMIT,
  SUBJECT_LIMIT_MAX,
  type SubjectSource,
  type SubjectState,
  subjectBody,
  unblockSubject,
} from '../operate/subjects.ts';
import { bodyIn } from './body.ts';
import { BODY_ERRORS, routeDocs } from './docs/route-docs.ts';
import { queryLimit } from './query.ts';
import type { RouteServices } from './route-services.ts';
import { Subject, SubjectBlockRequest, SubjectList } from './schemas/subjects.ts';
import { limitOf, refuseValue } from './terms.ts';

interface SubjectServices extends Pick<RouteServices, 'principalOf'> {
  readonly subjects: () => SubjectSource;
}

/** Values are checked by hand, for our own errors: the router would refuse them in its words. */
const QUERY = t.Object({
  limit: queryLimit(SUBJECT_LIMIT, SUBJECT_LIMIT_MAX),
  before: t.Optional(
    t.Any({ type: 'string', pattern: SUBJECT.source, description: 'Only those behind the subject with this ID.' }),
  ),
});

function placeOf(text: unknown): string | null {
  if (text === undefined) return null;
  if (typeof text === 'string' && isSubject(text)) return text;
  return refuseValue('before', `\`before\` must be the ID of a subject: ${SUBJECT_FORM}.`);
}

const LIST = routeDocs({
  access: 'subjects.read',
  summary: 'List the subjects of tokens',
  description: 'Lists the workloads that have sent a token in place of a key, by their first one, newest first.',
  answer: { schema: SubjectList, description: 'The subjects.' },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range'],
});

const SHOW = routeDocs({
  access: 'subjects.read',
  summary: 'Show a subject',
  description: 'Returns a subject with its issuer.',
  answer: { schema: Subject, description: 'The subject.' },
  errors: ['not_found'],
});

const BLOCK = routeDocs({
  access: 'subjects.change',
  summary: 'Block a subject',
  description:
    'Blocks a subject at once: all its tokens get 403, those of tomorrow as well. Requests in progress continue. `/admin/trail` records it.',
  answer: { schema: Subject, description: 'The subject.', differs: { is_blocked: true } },
  requests: { plain: { summary: 'With the reason', value: { note: 'leaked token, ticket 88' } } },
  errorField: 'note',
  errors: [...BODY_ERRORS, 'unknown_field', 'not_found'],
});

const UNBLOCK = routeDocs({
  access: 'subjects.change',
  body: 'none',
  summary: 'Unblock a subject',
  description: 'Unblocking it again changes nothing. The body is ignored.',
  answer: { schema: Subject, description: 'The subject.' },
  errors: ['not_found'],
});

/** `/admin/subjects`: the workloads that send tokens, and blocking them. */
export const subjectRoutes = ({ subjects, principalOf }: SubjectServices) =>
  new Elysia({ name: 'subjects' })
    .get(
      '/admin/subjects',
      async ({ query: { limit = SUBJECT_LIMIT, before }, request }) => {
        const query = { limit: limitOf(limit, SUBJECT_LIMIT_MAX), before: placeOf(before) };
        const { data, hasMore } = await listSubjects(principalOf(request), subjects(), query);
        return { object: 'list', data, has_more: hasMore };
      },
      { query: QUERY, ...LIST },
    )
    .get(
      '/admin/subjects/:id',
      async ({ params: { id }, request }) => shown(await findSubject(principalOf(request), subjects(), id)),
      SHOW,
    )
    .post(
      '/admin/subjects/:id/block',
      async ({ params: { id }, body: { note = '' }, request }) => {
        const by = principalOf(request);
        await orNothingDone(() => inTerms(() => blockSubject(by, subjects(), id, note)));
        return shown(await findSubject(by, subjects(), id));
      },
      { ...bodyIn(SubjectBlockRequest), ...BLOCK },
    )
    .post(
      '/admin/subjects/:id/unblock',
      async ({ params: { id }, request }) => {
        const by = principalOf(request);
        await orNothingDone(() => unblockSubject(by, subjects(), id));
        return shown(await findSubject(by, subjects(), id));
      },
      UNBLOCK,
    );

function shown(found: SubjectState | null) {
  // The ID is not repeated: somebody may have put a token in its place.
  if (!found) throw new SignalboxError('not_found', 'No subject with this ID has sent a token.');
  return subjectBody(found);
}
