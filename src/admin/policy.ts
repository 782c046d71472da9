import { Type } from '@sinclair/typebox';
import { policySchema } from '../policy/json-schema.ts';
import * as f from './kit/fields.ts';
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
    'Returns the active revision and the result of the last reload, with all diagnostics if it was refused. The header `etag` has the revision.',
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
    'Reloads the policy files now and returns the result. Signalbox watches the folder, so edits take effect without this request. With `If-Match: <revision>`, it reloads only while that revision is active.',
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
    'Returns the files of the active policy, and what the caller may write of them. The header `etag` has the revision.',
  output: answers.PolicyFiles,
  answer: 'The files.',
  isTagged: true,
  async run({ desk }, { by }) {
    const { bundle, runtime } = desk.inForce();
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

const EDIT = f.body('An edit of the policy’s files.', { changes: CHANGES });

const writeFiles = operation({
  name: 'policy write',
  command: false,
  http: 'PUT /admin/policy/files',
  bodyMax: 'policy',
  action: 'policy.write',
  summary: 'Write the files of the policy',
  details:
    'Writes an edit as a whole and activates it, once it passes the check and the policy’s own cases. `If-Match` names the revision that the edit began from. An edit that gives power or sends data elsewhere is guarded: it needs an owner, and a server that was started with `--allow-policy-writes`. The trail keeps the edit with its difference.',
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
    'Stores the files of a policy as a revision, or pushes an earlier revision again, and activates it at every server that follows pushes (`--policies-from store`), as `policy push` and `policy rollback` do. It passes the check and the policy’s own cases here and at each of these servers. If one refuses, for example because it lacks the code of a plugin, the revision becomes active nowhere. `If-Match` names the revision that you began from. It is optional for an earlier push. Guarded changes are as for `PUT /admin/policy/files`.',
  input: f.body('The revision to push: all its files, or an earlier push.', {
    files: Type.Optional(FILES),
    revision: Type.Optional(
      f.text('An earlier push that was active: its number, or at least 6 of the first digits of its revision.', '3'),
    ),
  }),
  output: answers.PolicyWrite,
  answer: 'The revision is active.',
  examples: { earlier: { summary: 'An earlier push again', value: { revision: '3' } } },
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
  summary: 'Make a patch of an edit',
  details: 'Returns the difference between the files on disk and an edit, for `git apply` in the policy’s folder.',
  input: EDIT,
  output: Type.String({ description: 'A unified diff, for `git apply` in the policy’s folder.' }),
  answer: 'The patch; empty where nothing differs.',
  text: { mediaType: 'text/x-diff', description: '', example: 'diff --git a/rules.yaml b/rules.yaml\n' },
  examples: {
    rule: { summary: 'A new file', value: { changes: [{ name: 'rules.yaml', text: 'constraints: []\n' }] } },
  },
  errorField: 'changes',
  errors: ['conflict'],
  run: async ({ desk }, { by }, { changes }) =>
    new TextAnswer(await policyPatch(by, desk, changes), 'text/x-diff', 'policy.patch'),
});

/** The page of a history. @param what the items are */
const pageIn = (what: string) =>
  f.body('Which page.', {
    after: f.optional(Type.Integer({ minimum: 0, description: `The \`id\` of the last ${what} of the page before.` })),
    limit: f.optional(
      Type.Integer({
        minimum: 1,
        maximum: HISTORY_LIMIT_MAX,
        description: `How many at most; ${HISTORY_LIMIT} unless given. A page also ends at 1 MiB.`,
      }),
    ),
  });

/** Said where no server follows pushes. */
export const UNFOLLOWED = 'No server follows pushes now: those with --policies-from store do.\n';

/** `GET /admin/policy/pushes` and `signalbox policy history`. */
export const listPushed = operationsOn<{ readonly desk: PushReader }>()({
  name: 'policy history',
  http: 'GET /admin/policy/pushes',
  action: 'policy.read',
  summary: 'List the revisions that were pushed',
  details: 'Lists every revision that was pushed, newest first, with who pushed it.',
  input: pageIn('push'),
  output: answers.PolicyPushes,
  answer: 'The page.',
  errorField: 'limit',
  commandLimit: HISTORY_LIMIT,
  prints: {
    columns: ['id', 'revision', 'time', 'author', 'state', 'is_in_force', 'reason'],
    sum: ({ data }: { readonly data: readonly { readonly is_in_force: boolean }[] }) => {
      if (data.length === 0) return 'No revision was pushed.\n';
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
  details: 'Lists each time that a policy became active, as the trail has it, newest first.',
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
  details: 'Finds a policy that was active by its revision, or at least 6 of the first digits.',
  output: answers.PolicyRevision,
  answer: 'The policy.',
  errors: ['conflict'],
  async run({ desk }, { id }) {
    const found = await storedRevision(desk, id);
    return {
      ...found,
      isInForce: found.revision === desk.inForce().runtime.snapshot.revision,
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
  details: 'Returns the schema that `policy schema` prints, for completion and checks in an editor.',
  output: answers.PolicyJsonSchema,
  answer: 'The schema.',
  differs: { $schema: 'http://json-schema.org/draft-07/schema#' },
  run: async ({ desk }) => policySchema(desk.judge.shipped),
});

/** `/admin/policy`: the policy, its files, its pushes and its revisions. */
export const POLICY_OPERATIONS = [
  ...[showPolicy, reload, readFiles, writeFiles, pushFiles, makePatch, revisions, showRevision, showSchema],
];
