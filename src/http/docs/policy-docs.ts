import * as schemas from '../schemas/policy-tools.ts';
import { BODY_ERRORS, DECISION_ERRORS, routeDocs } from './route-docs.ts';

/** The documentation of `/admin/policy/…`. */

const SENT =
  'A policy that is sent can run no plugin that is not in force, and learns of variables only whether they are set. One check, test, difference, patch or edit of a principal runs at a time.';

const bodyRefused = [...BODY_ERRORS, 'unknown_field', 'conflict'] as const;

export const CHECK = routeDocs({
  ...{ access: 'policy.check', body: 'policy', summary: 'Check a policy' },
  description: `\`policy check\`: every mistake of a policy with its place, its line and its mend. The policy is the files that are sent, changes of the files on disk, or without either the files on disk. ${SENT}`,
  answer: { schema: schemas.PolicyCheck, description: 'Every mistake.' },
  requests: { disk: { summary: 'The files on disk', value: {} } },
  errorField: 'files',
  errors: bodyRefused,
});

export const TEST = routeDocs({
  ...{ access: 'policy.check', body: 'policy', summary: 'Run the cases of a policy' },
  description: `\`policy test --coverage\`: runs the policy's own cases, with all variables set and with those that are set here. ${SENT}`,
  answer: { schema: schemas.PolicyTest, description: 'The results.' },
  requests: { disk: { summary: 'The files on disk', value: {} } },
  errorField: 'files',
  errors: bodyRefused,
});

export const DIFF = routeDocs({
  ...{ access: 'policy.check', body: 'policy', summary: 'Compare two policies' },
  description: `\`policy diff\`: what two policies declare differently, which cases they decide differently, and the difference of their texts. Each is that in force, a stored revision, files that are sent, or the files on disk. ${SENT}`,
  answer: { schema: schemas.PolicyDifference, description: 'The difference.' },
  requests: { disk: { summary: 'The policy in force and the files on disk', value: {} } },
  errorField: 'a',
  errors: [...bodyRefused, 'not_found'],
});

/** Bytes of the largest body that is explained: an explanation reads a prompt many times. */
const EXPLAINED_BYTES_MAX = 262_144;

export const EXPLAIN = routeDocs({
  ...{
    access: 'policy.explain',
    body: EXPLAINED_BYTES_MAX,
    summary: 'Explain the decision for a request that is not sent',
  },
  description:
    '`policy explain`: the decision that a request would get now, by the present readings, estimates and money, with every candidate and its rank or the reasons against it. It leaves no record, holds nothing and counts in no rate limit of a caller. The body may have at most 256 KiB. A principal gets one explanation at a time, and at most ten a second. Leads and members ask as themselves or as keys that they see, on the policy in force.',
  answer: { schema: schemas.PolicyExplanation, description: 'The decision.' },
  requests: {
    chat: {
      summary: 'A chat, on the policy in force',
      value: { request: { model: 'auto', messages: [{ role: 'user', content: 'Prove that √2 is irrational.' }] } },
    },
  },
  errorField: 'request.messages',
  errors: [...DECISION_ERRORS, 'not_found', 'conflict', 'policy_invalid'],
});

export const FILES = routeDocs({
  ...{ access: 'policy.read', summary: 'Read the files of the policy' },
  description:
    'The files of the policy in force, and what the caller may write of them. The header `etag` has the revision.',
  answer: { schema: schemas.PolicyFiles, description: 'The files.' },
});

export const WRITE = routeDocs({
  ...{ access: 'policy.write', body: 'policy', summary: 'Write the files of the policy' },
  description:
    'Writes an edit as one and puts it in force, after the check and the policy’s own cases, which refuse it whole. `If-Match` names the revision that the edit began from. An edit that gives power or sends data elsewhere is guarded: it needs an owner, and a server that was started with `--allow-policy-writes`. The edit stands in the trail with its difference.',
  answer: { schema: schemas.PolicyWrite, description: 'The edit is in force.' },
  errorField: 'changes',
  errors: [...bodyRefused, 'precondition_failed', 'policy_invalid'],
});

export const PUSH = routeDocs({
  ...{ access: 'policy.write', body: 'policy', summary: 'Push a revision of the policy' },
  description:
    'Stores the files of a policy as a revision, or those of an earlier push again, and puts it in force at every server that follows pushes (`--policies-from store`), as `policy push` and `policy rollback` do. It passes the check and the policy’s own cases here and at each of these servers; where one refuses, as without the code of a plugin, it is in force nowhere. `If-Match` names the revision that it began from, and may be left out for an earlier push. Guarded changes are as for `PUT /admin/policy/files`.',
  answer: { schema: schemas.PolicyWrite, description: 'The revision is in force.' },
  requests: { earlier: { summary: 'An earlier push again', value: { revision: '3' } } },
  errorField: 'files',
  errors: [...bodyRefused, 'not_found', 'precondition_failed', 'policy_invalid'],
});

export const PUSHES = routeDocs({
  ...{ access: 'policy.read', summary: 'List the pushed revisions' },
  description:
    'Every revision that was pushed, with who has pushed it, the newest first, as `policy history` shows it.',
  answer: { schema: schemas.PolicyPushes, description: 'The page.' },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range'],
});

export const PATCH = routeDocs({
  ...{ access: 'policy.check', body: 'policy', summary: 'Make a patch of an edit' },
  description: 'The difference between the files on disk and an edit, for `git apply` in the policy’s folder.',
  requests: {
    rule: { summary: 'A new file', value: { changes: [{ name: 'rules.yaml', text: 'constraints: []\n' }] } },
  },
  answer: {
    schema: schemas.PolicyPatch,
    description: 'The patch; empty where nothing differs.',
    mediaType: 'text/x-diff',
    example: 'diff --git a/rules.yaml b/rules.yaml\n',
  },
  errorField: 'changes',
  errors: bodyRefused,
});

export const REVISIONS = routeDocs({
  ...{ access: 'policy.read', summary: 'List the policies that were in force' },
  description: 'Each time that a policy came into force, as the trail has it, the newest first.',
  answer: { schema: schemas.PolicyRevisions, description: 'The page.' },
  errorField: 'limit',
  errors: ['invalid_value', 'out_of_range'],
});

export const REVISION = routeDocs({
  ...{ access: 'policy.read', summary: 'Read a stored policy' },
  description: 'Finds a policy that was in force by its revision, or at least 6 of the first digits.',
  answer: { schema: schemas.PolicyRevision, description: 'The policy.' },
  errors: ['not_found', 'conflict'],
});

export const SCHEMA = routeDocs({
  ...{ access: 'policy.read', summary: 'The JSON Schema of policies' },
  description: 'The schema that `policy schema` prints, for completion and checks in an editor.',
  answer: {
    schema: schemas.PolicyJsonSchema,
    description: 'The schema.',
    example: { $schema: 'http://json-schema.org/draft-07/schema#' },
  },
});
