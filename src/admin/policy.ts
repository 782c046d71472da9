import { Type } from '@sinclair/typebox';
import * as f from '../core/define/fields.ts';
import { policySchema } from '../policy/json-schema.ts';
import { operationsOn, TextAnswer } from './kit/operation.ts';
import * as answers from './policy-answers.ts';
import { CHANGES, FILES, PolicyReload } from './policy-shapes.ts';
import { filesOnDisk, revisionBundle, storedRevision } from './use-cases/policy/desk.ts';
import {
  HISTORY_LIMIT,
  HISTORY_LIMIT_MAX,
  listPushes,
  listRevisions,
  type PushReader,
} from './use-cases/policy/history.ts';
import type { ExplanationDesk } from './use-cases/policy/served-explain.ts';
import { type PolicyAdmin, reloadPolicy } from './use-cases/policy/serving.ts';
import {
  policyPatch,
  pushPolicy,
  shownText,
  type WritableDesk,
  type WrittenPolicy,
  writableBy,
  writePolicyFiles,
} from './use-cases/policy/write.ts';

/** The services that operations on a server’s policy use. */
export interface PolicyServices {
  readonly policy: PolicyAdmin;
  readonly desk: WritableDesk & ExplanationDesk;
}
const operation = operationsOn<PolicyServices>();

const showPolicy = operation({
  name: 'policy show',
  command: false,
  http: 'GET /admin/policy',
  action: 'policy.read',
  summary: 'Show the active policy',
  details:
    'Returns the active revision and the result of the last reload. If the reload was refused, the answer has all diagnostics. The header `etag` has the revision.',
  output: answers.PolicyStatus,
  answer: 'The active policy.',
  isTagged: true,
  async run({ policy }) {
    const status = policy.status();
    return { ...status, models: policy.lease().snapshot.models.length, tag: status.revision };
  },
});

const reload = operation({
  name: 'policy reload',
  command: false,
  http: 'POST /admin/policy/reload',
  action: 'policy.reload',
  summary: 'Reload the policy',
  details:
    'Reloads the policy files now and returns the result. You rarely need this, because Signalbox watches the folder and applies edits itself. With `If-Match: <revision>`, the server reloads only if that revision is active.',
  output: PolicyReload,
  answer: 'Applied, or unchanged.',
  errors: ['precondition_failed', 'policy_invalid'],
  isTagged: true,
  async run({ policy }, { by, tags }) {
    const attempt = await reloadPolicy(by, policy, tags?.[0] ?? null);
    return { ...attempt, tag: attempt.revision };
  },
});

const readFiles = operation({
  name: 'policy files',
  command: false,
  http: 'GET /admin/policy/files',
  action: 'policy.read',
  summary: 'Read the files of the policy',
  details:
    'Returns the files of the active policy, and which edits the caller may make. The header `etag` has the revision.',
  output: answers.PolicyFiles,
  answer: 'The files.',
  isTagged: true,
  async run({ desk }, { by }) {
    const { bundle, runtime } = desk.active();
    const { revision } = runtime.snapshot;
    const disk = await filesOnDisk(desk).catch(() => null);
    const differs = disk !== null && disk.hash !== bundle.hash;
    return {
      revision,
      files: bundle.files.map(shownText),
      onDisk: disk === null ? ('unreadable' as const) : differs ? ('differs' as const) : ('same' as const),
      diskFiles: differs ? disk.files.map(shownText) : null,
      writes: await writableBy(by.caller, desk),
      tag: revision,
    };
  },
});

const writtenAs = (written: WrittenPolicy) => {
  const { revision } = written.reload;
  return { revision, ...written, tag: revision };
};

const EDIT = f.closed('An edit of the policy’s files.', { changes: CHANGES });

const writeFiles = operation({
  name: 'policy write',
  command: false,
  http: 'PUT /admin/policy/files',
  bodyMax: 'policy',
  action: 'policy.write',
  summary: 'Write the files of the policy',
  details:
    'Writes an edit as a whole and activates it if it passes the check and the policy’s own cases. `If-Match` names the revision on which your edit is based. An edit is guarded if it gives more rights or sends data to other places. A guarded edit needs an owner, and a server that was started with `--allow-policy-writes`. The audit trail records the edit with its difference.',
  input: EDIT,
  output: answers.PolicyWrite,
  answer: 'The edit is active.',
  errorField: 'changes',
  errors: ['conflict', 'precondition_failed', 'policy_invalid'],
  isTagged: true,
  run: async ({ desk }, { by, tags }, { changes }) => writtenAs(await writePolicyFiles(by, desk, changes, tags)),
});

const pushFiles = operation({
  name: 'policy push',
  command: false,
  http: 'POST /admin/policy/pushes',
  bodyMax: 'policy',
  action: 'policy.write',
  summary: 'Push a revision of the policy',
  details:
    'Stores the files of a policy as a revision, or pushes an earlier revision again, as `policy push` and `policy rollback` do. Activates the revision on every server that follows pushes (`--policies-from store`). First, this server and each of these servers check the policy and run its cases. If one refuses, for example because it lacks the code of a plugin, the revision is activated on no server. `If-Match` names the revision on which your edit is based. It is optional for an earlier push. Guarded changes follow the rules of `PUT /admin/policy/files`.',
  input: f.closed('The revision to push: either all its files, or the name of an earlier push.', {
    files: Type.Optional(FILES),
    revision: Type.Optional(
      f.text('An earlier push that was active: its number, or at least the first 6 digits of its revision.', '3'),
    ),
  }),
  output: answers.PolicyWrite,
  answer: 'The revision is active.',
  examples: { earlier: { summary: 'Push an earlier revision again', value: { revision: '3' } } },
  errorField: 'files',
  errors: ['conflict', 'not_found', 'precondition_failed', 'policy_invalid'],
  isTagged: true,
  run: async ({ desk }, { by, tags }, pushed) => writtenAs(await pushPolicy(by, desk, pushed, tags)),
});

const makePatch = operation({
  name: 'policy patch',
  command: false,
  http: 'POST /admin/policy/patch',
  bodyMax: 'policy',
  action: 'policy.check',
  summary: 'Create a patch from an edit',
  details: 'Returns the difference between the files on disk and an edit, for `git apply` in the policy’s folder.',
  input: EDIT,
  output: Type.String({ description: 'A unified diff, for `git apply` in the policy’s folder.' }),
  answer: 'The patch; empty if nothing differs.',
  text: { mediaType: 'text/x-diff', description: '', example: 'diff --git a/rules.yaml b/rules.yaml\n' },
  examples: {
    rule: { summary: 'A new file', value: { changes: [{ name: 'rules.yaml', text: 'constraints: []\n' }] } },
  },
  errorField: 'changes',
  errors: ['conflict'],
  run: async ({ desk }, { by }, { changes }) =>
    new TextAnswer(await policyPatch(by, desk, changes), 'text/x-diff', 'policy.patch'),
});

/** The query parameters of a page of a history. @param what the noun of the items */
const pageIn = (what: string) =>
  f.closed('Which page.', {
    after: f.optional(
      Type.Integer({ minimum: 0, description: `The \`id\` of the last ${what} of the previous page.` }),
    ),
    limit: f.optional(
      Type.Integer({
        minimum: 1,
        maximum: HISTORY_LIMIT_MAX,
        description: `The most items to return; by default ${HISTORY_LIMIT}. A page also ends at 1 MiB.`,
      }),
    ),
  });

/** The message if no server follows pushes. */
export const UNFOLLOWED =
  'No running server follows pushes. To follow pushes, start a server with --policies-from store.\n';

/** The operation of `GET /admin/policy/pushes` and `signalbox policy history`. */
export const listPushed = operationsOn<{ readonly desk: PushReader }>()({
  name: 'policy history',
  use: 'to find an earlier revision, or who pushed a revision.',
  example: 'policy history --limit 10',
  http: 'GET /admin/policy/pushes',
  action: 'policy.read',
  summary: 'List the revisions that were pushed',
  details: 'Lists every revision that was pushed, newest first, with the person or key that pushed it.',
  input: pageIn('push'),
  output: answers.PolicyPushes,
  answer: 'The page.',
  errorField: 'limit',
  commandLimit: HISTORY_LIMIT,
  prints: {
    columns: ['id', 'revision', 'time', 'author', 'state', 'is_in_force', 'reason'],
    sum: ({ data }: { readonly data: readonly { readonly is_in_force: boolean }[] }) => {
      if (data.length === 0) return 'No revision was pushed yet.\n';
      return data.some((one) => one.is_in_force) ? '' : UNFOLLOWED;
    },
  },
  run: async ({ desk }, { by }, page) => await listPushes(by, desk, page),
});

const revisions = operation({
  name: 'policy revisions',
  command: false,
  http: 'GET /admin/policy/revisions',
  action: 'policy.read',
  summary: 'List the policies that were active',
  details: 'Lists each activation of a policy that the audit trail has, newest first.',
  input: pageIn('revision'),
  output: answers.PolicyRevisions,
  answer: 'The page.',
  errorField: 'limit',
  run: async ({ desk }, { by }, page) => await listRevisions(by, desk, desk.store.trail, page),
});

const showRevision = operation({
  name: 'policy revision',
  command: false,
  http: 'GET /admin/policy/revisions/:id',
  action: 'policy.read',
  summary: 'Read a stored policy',
  details: 'Returns a policy that was active. You can name it by its revision, or by at least the first 6 digits.',
  output: answers.PolicyRevision,
  answer: 'The policy.',
  errors: ['conflict'],
  async run({ desk }, { id }) {
    const found = await storedRevision(desk, id);
    return {
      ...found,
      isInForce: found.revision === desk.active().runtime.snapshot.revision,
      files: revisionBundle(found).files.map(shownText),
    };
  },
});

const showSchema = operation({
  name: 'policy schema',
  command: false,
  http: 'GET /admin/policy/schema',
  action: 'policy.read',
  summary: 'Show the JSON Schema of policies',
  details: 'Returns the schema that `policy schema` prints. Editors use it for completion and checks.',
  output: answers.PolicyJsonSchema,
  answer: 'The schema.',
  differs: { $schema: 'http://json-schema.org/draft-07/schema#' },
  run: async ({ desk }) => policySchema(desk.judge.shipped),
});

/** The operations of `/admin/policy`: the policy, its files, its pushes and its revisions. */
export const POLICY_OPERATIONS = [
  ...[showPolicy, reload, readFiles, writeFiles, pushFiles, makePatch, revisions, showRevision, showSchema],
];
