import { Elysia, t } from 'elysia';
import { orNothingDone } from '../admin/kit/refusals.ts';
import { iso } from '../core/clock.ts';
import { listPushes, PUSHES_LIMIT, PUSHES_LIMIT_MAX } from '../operate/policy/pushed.ts';
import { checkServed, diffServed, testServed } from '../operate/policy/served-check.ts';
import { type ExplanationDesk, explainServed } from '../operate/policy/served-explain.ts';
import {
  policyFiles,
  policyRevision,
  policyRevisions,
  REVISIONS_LIMIT,
  REVISIONS_LIMIT_MAX,
  servedSchema,
} from '../operate/policy/served-files.ts';
import {
  policyPatch,
  pushPolicyFiles,
  rollBackPolicy,
  type WritableDesk,
  type WrittenPolicy,
  writePolicyFiles,
} from '../operate/policy/write.ts';
import type { TrailTable } from '../store/trail.ts';
import { attemptBody, expectedRevision } from './admin.ts';
import { bodyIn } from './body.ts';
import * as docs from './docs/policy-docs.ts';
import { queryLimit, queryText } from './query.ts';
import type { RouteServices } from './route-services.ts';
import * as requests from './schemas/policy-requests.ts';
import { limitOf, refuseValue } from './terms.ts';

/** The policy's tools and files, as the edge sees them. */
export type PolicyTable = ExplanationDesk & WritableDesk;

interface PolicyServices extends Pick<RouteServices, 'principalOf'> {
  readonly desk: PolicyTable;
  readonly store: { readonly trail: Pick<TrailTable, 'list'> };
}

/** `/admin/policy/…`: `policy check`, `test`, `diff` and `explain` for programs, and the policy's files. */
export const policyRoutes = (services: PolicyServices) =>
  new Elysia({ name: 'policy' }).use(toolRoutes(services)).use(fileRoutes(services)).use(revisionRoutes(services));

const toolRoutes = ({ desk, principalOf }: PolicyServices) =>
  new Elysia({ name: 'policy-tools' })
    .post(
      '/admin/policy/check',
      ({ body, request }) => checkServed(principalOf(request), desk, body, iso(desk.now()).slice(0, 10)),
      { ...bodyIn(requests.PolicyCheckRequest), ...docs.CHECK },
    )
    .post(
      '/admin/policy/test',
      ({ body: { case: text = null, here = false, ...sent }, request }) =>
        testServed(principalOf(request), desk, sent, { text, onlyHere: here }),
      { ...bodyIn(requests.PolicyTestRequest), ...docs.TEST },
    )
    .post(
      '/admin/policy/diff',
      ({ body: { a = null, b = {} }, request }) => diffServed(principalOf(request), desk, a, b),
      { ...bodyIn(requests.PolicyDiffRequest), ...docs.DIFF },
    )
    .post('/admin/policy/explain', ({ body, request }) => explainServed(principalOf(request), desk, body), {
      ...bodyIn(requests.PolicyExplainRequest),
      ...docs.EXPLAIN,
    });

const fileRoutes = ({ desk, principalOf }: PolicyServices) =>
  new Elysia({ name: 'policy-files' })
    .get(
      '/admin/policy/files',
      async ({ request, set }) => {
        const files = await policyFiles(principalOf(request), desk);
        set.headers.etag = `"${files.revision}"`;
        return files;
      },
      docs.FILES,
    )
    .put(
      '/admin/policy/files',
      async ({ body: { changes }, request, set }) => {
        const expected = expectedRevision(request.headers.get('if-match'));
        const written = await orNothingDone(() => writePolicyFiles(principalOf(request), desk, changes, expected));
        set.headers.etag = `"${written.reload.revision}"`;
        return writtenBody(written);
      },
      { ...bodyIn(requests.PolicyEditRequest), ...docs.WRITE },
    )
    .post(
      '/admin/policy/patch',
      async ({ body: { changes }, request }) =>
        new Response(await policyPatch(principalOf(request), desk, changes), { headers: PATCH_HEADERS }),
      { ...bodyIn(requests.PolicyEditRequest), ...docs.PATCH },
    );

const writtenBody = ({ reload, ...written }: WrittenPolicy) => ({
  object: 'policy.write' as const,
  revision: reload.revision,
  ...written,
  reload: attemptBody(reload),
});

const PATCH_HEADERS = {
  'content-type': 'text/x-diff; charset=utf-8',
  'content-disposition': 'attachment; filename="policy.patch"',
  'cache-control': 'no-store',
};

const REVISIONS_QUERY = t.Object({
  after: queryText('The `id` of the last revision of the page before.'),
  limit: queryLimit(REVISIONS_LIMIT, REVISIONS_LIMIT_MAX),
});

const PUSHES_QUERY = t.Object({
  after: queryText('The `id` of the last push of the page before.'),
  limit: queryLimit(PUSHES_LIMIT, PUSHES_LIMIT_MAX),
});

const revisionRoutes = ({ desk, store, principalOf }: PolicyServices) =>
  new Elysia({ name: 'policy-revisions' })
    .get(
      '/admin/policy/revisions',
      ({ query: { after, limit }, request }) =>
        policyRevisions(principalOf(request), desk, store.trail, {
          limit: limitOf(limit ?? REVISIONS_LIMIT, REVISIONS_LIMIT_MAX),
          after: after === undefined ? null : entryIn(after),
        }),
      { query: REVISIONS_QUERY, ...docs.REVISIONS },
    )
    .post(
      '/admin/policy/pushes',
      async ({ body: { files, revision }, request, set }) => {
        const by = principalOf(request);
        const expected = expectedRevision(request.headers.get('if-match'));
        const written = await orNothingDone(() =>
          revision === undefined
            ? pushPolicyFiles(by, desk, files ?? [], expected)
            : rollBackPolicy(by, desk, revision, expected),
        );
        set.headers.etag = `"${written.reload.revision}"`;
        return writtenBody(written);
      },
      { ...bodyIn(requests.PolicyPushRequest), ...docs.PUSH },
    )
    .get(
      '/admin/policy/pushes',
      ({ query: { after, limit }, request }) =>
        listPushes(principalOf(request), desk.store, {
          limit: limitOf(limit ?? PUSHES_LIMIT, PUSHES_LIMIT_MAX),
          after: after === undefined ? null : entryIn(after),
        }),
      { query: PUSHES_QUERY, ...docs.PUSHES },
    )
    .get(
      '/admin/policy/revisions/:id',
      ({ params: { id }, request }) => policyRevision(principalOf(request), desk, id),
      docs.REVISION,
    )
    .get('/admin/policy/schema', ({ request }) => servedSchema(principalOf(request), desk), docs.SCHEMA);

function entryIn(text: string): number {
  const id = Number(text);
  return Number.isSafeInteger(id) && id >= 0 ? id : refuseValue('after', '`after` must be the `id` of a revision.');
}
