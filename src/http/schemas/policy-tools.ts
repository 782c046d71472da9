import { Type } from '@sinclair/typebox';
import { CERTIFICATE } from '../../admin/certificate.ts';
import { Facts } from '../../admin/decision.ts';
import { PolicyDiagnostic } from '../../api/diagnostic.ts';
import * as field from '../../api/parts.ts';
import { PolicyChange, PolicyReload } from './policy.ts';

const fileName = field.text('Its name in the policy’s folder.', 'models.yaml');
const GuardedChange = Type.Object({
  section: field.text('The section.', 'providers'),
  name: field.textOrNull('The name of the item; null for a section without named items.', 'openai'),
  key: field.textOrNull('The key; null for the whole item or section.', 'base_url'),
  why: field.text('Why it is guarded.', 'it decides where requests and keys are sent'),
});
const guarded = field.arrayOf(
  GuardedChange,
  'Differences from the files on disk that only an owner may write, on a server that was started with `--allow-policy-writes`.',
  [],
);

const FILE_TEXT = {
  name: fileName,
  text: field.text('Its text. Texts that look like secrets are replaced by `[secret]`.', 'version: 2\n'),
  is_masked: field.flag(
    'Whether a text that looks like a secret was replaced. Such a file cannot be written here.',
    false,
  ),
};

export const PolicyFiles = field.named('PolicyFiles', 'The files of the policy in force.', {
  object: field.always('policy.files'),
  revision: field.policyRevision,
  files: field.rows('By name.', FILE_TEXT),
  on_disk: field.word(
    ['same', 'differs', 'unreadable'],
    '`differs`: the files on disk are not those in force, as after an edit that was refused.',
  ),
  disk_files: field.orNull(
    field.rows('By name.', FILE_TEXT),
    'The files on disk, where they are not those in force; null where they are the same or unreadable.',
  ),
  writes: field.shape('What the caller may write.', {
    ordinary: field.flag('Whether ordinary edits are taken.', true),
    guarded: field.flag('Whether guarded edits are taken, too.', false),
    refused: field.textOrNull('Why ordinary edits are not taken.', null),
  }),
});

const revisionActor = field.shape('Who put it in force.', {
  kind: field.text('As in the trail.', 'user'),
  name: field.textOrNull('As in the trail.', 'user_0mtqg5k3w4x1b7q2z'),
});

export const PolicyRevisions = field.named('PolicyRevisions', 'The policies that were in force.', {
  ...field.listOf(
    Type.Object({
      id: field.count('The entry of the trail, for `after`.', 12),
      revision: field.policyRevision,
      from: field.moment('When it came into force.'),
      until: field.momentOrNull('When the next one did; null for that in force.'),
      cause: field.textOrNull('What put it in force: `start`, `edit`, `push`, `signal` or `request`.', 'request'),
      actor: revisionActor,
      is_stored: field.flag('Whether its text is still kept.', true),
    }),
    'Newest first.',
  ),
  has_more: field.flag('Whether there are older ones.', false),
});

export const PolicyRevision = field.named('PolicyRevision', 'A stored policy.', {
  object: field.always('policy.revision'),
  revision: field.policyRevision,
  is_in_force: field.flag('Whether it is in force.', false),
  saved: field.moment('When it last came into force.'),
  models: field.textList('The models that it served.', ['gpt-6-luna']),
  files: field.rows('By name.', { name: fileName, text: field.text('Its text.', 'version: 2\n') }),
});

const FramedDiagnostic = Type.Composite(
  [
    PolicyDiagnostic,
    Type.Object({
      end_column: field.count('The column behind it.', 14),
      frame: field.text('The line with carets under the place, and the line before it; empty for none.', '> 1 | …'),
      help: field.text('What the code means.', 'The key does not exist here.'),
    }),
  ],
  { title: 'FramedPolicyDiagnostic', description: 'One problem of a policy, with its place and its line.' },
);

const DIAGNOSTICS = {
  errors: field.count('The number of errors.'),
  warnings: field.count('The number of warnings.'),
  diagnostics: field.arrayOf(FramedDiagnostic, 'Every mistake, sorted by place.', []),
};

const leftOut = field.textList('Providers that the variables set here leave out, with the reason.', []);

export const PolicyCheck = field.named('PolicyCheck', 'The result of a check, as `policy check --json` has it.', {
  ...DIAGNOSTICS,
  files: field.textList('The files.', ['models.yaml']),
  models: field.wholeOrNull('The models; null for a policy with errors.', 4),
  wildcards: field.wholeOrNull('The wildcards; null for a policy with errors.', 0),
  cases: field.wholeOrNull('The cases; null for a policy with errors.', 2),
  left_out_here: leftOut,
  changed_by_latest_version: field.textListOrNull(
    'Defaults that the latest version of the language would change; null for a policy of that version.',
    null,
  ),
  guarded,
});

const CASE_OUTCOME = {
  status: field.word(['holds', 'failed', 'not_run'], 'The result.', 'holds'),
  missing: field.rows(
    'Parts for whose lack it cannot run.',
    {
      name: field.text('The model or the provider.', 'gpt-6-luna'),
      reason: field.text('Why.', 'OPENAI_API_KEY is not set'),
    },
    [],
  ),
  failures: field.rows(
    'Expectations that do not hold.',
    {
      key: field.text('The key of `expect`.', 'model'),
      expected: field.text('What the case expects.', 'small'),
      got: field.text('What it got.', 'large'),
      hint: field.textOrNull('Why.'),
    },
    [],
  ),
  choice: field.textOrNull('The model; null for a refusal, and where it did not run.', 'gpt-6-luna'),
  provider: field.textOrNull('The provider that would be tried first.', 'openai'),
  reason: field.textOrNull('`route_reason`.', 'auto:balanced'),
  cost_credits: field.figureOrNull('The expected cost. In Credits.', 0.46),
  cost_usd: field.figureOrNull('The same in USD.', 0.00046),
  latency_ms: field.figureOrNull('The expected time. In ms.', 2_300),
  quality: field.figureOrNull('The expected share of good answers.', 0.71),
};

const settings = field.arrayOf(
  field.word(['all_set', 'here'], 'The variables: all set, or those set here.'),
  'Where it ran.',
);

export const PolicyTest = field.named('PolicyTest', 'The results of cases, as `policy test --json` has them.', {
  ...DIAGNOSTICS,
  counts: field.shapeOrNull('The cases by result; null for a policy with errors, whose cases do not run.', {
    cases: field.count('All that ran or were to run.', 2),
    hold: field.count('Those that hold.', 2),
    failed: field.count('Those that fail.', 0),
    not_run: field.count('Those that cannot run here.', 0),
  }),
  settings: field.rows('The environments.', { names: settings, policy_revision: field.policyRevision }),
  left_out_here: leftOut,
  cases: field.rows('In the order of the policy.', {
    name: field.text('Its name.', 'greeting goes to the small model'),
    file: fileName,
    line: Type.Integer(),
    column: Type.Integer(),
    ...CASE_OUTCOME,
    settings: field.rows('The same for each environment.', { settings, ...CASE_OUTCOME }),
  }),
  coverage: field.shapeOrNull('The rules and models that the cases which hold touch; null for a policy with errors.', {
    touched: field.count('The rules and models that a case touches.', 12),
    total: field.count('All rules and models.', 14),
    percent: field.figure('The share. In percent, rounded down to a tenth.', 85.7),
    untouched: field.rows('What no case touches.', {
      kind: field.word(['constraint', 'preference', 'model'], 'The kind.', 'constraint'),
      name: field.text('Its name.', 'eu-only'),
      file: fileName,
      line: Type.Integer(),
      column: Type.Integer(),
    }),
  }),
});

const DiffSide = (description: string) =>
  field.shape(description, {
    name: field.text('The revision, or what it is.', '95f1a7d5f908027b'),
    kind: field.word(['folder', 'revision', 'git', 'bundle'], 'Where it is from.', 'revision'),
    loaded: field.flag('Whether it can be loaded.', true),
    message: Type.Optional(field.textOrNull('Why it cannot be loaded; null where `diagnostics` tell.')),
    errors: Type.Optional(field.count('The number of errors.')),
    diagnostics: Type.Optional(field.arrayOf(PolicyDiagnostic, 'Its errors.')),
  });

const figures = {
  cost_credits: field.figure('The expected cost. In Credits.', 0.46),
  cost_usd: field.figure('The same in USD.', 0.00046),
  latency_ms: field.figureOrNull('The expected time. In ms.', 2_300),
  quality: field.figureOrNull('The expected share of good answers.', 0.71),
};
const outcome = (description: string) =>
  Type.Union(
    [
      Type.Object({
        model: field.modelId('The model.'),
        provider: field.text('The provider.', 'openai'),
        reason: field.routeReason,
        ...figures,
      }),
      Type.Object({
        refused: field.text('The code of the error.', 'no_eligible_model'),
        message: field.text('Its sentence.', 'No model fits.'),
      }),
    ],
    { description },
  );
const totals = field.shape('Sums of costs, and means of the rest, of the cases that both answer.', {
  count: field.count('All cases.', 2),
  different: field.count('Those with another model, provider or error.', 1),
  answered_by_both: field.count('Those that both answer.', 2),
  a: Type.Object({ refused: field.count('Refused by `a`.'), ...figures }),
  b: Type.Object({ refused: field.count('Refused by `b`.'), ...figures }),
  broken: field.count('Those that held by `a` and do not by `b`.'),
});

export const PolicyDifference = field.named(
  'PolicyDifference',
  'Two policies compared, as `policy diff --json` has it.',
  {
    a: DiffSide('The earlier one.'),
    b: DiffSide('The later one.'),
    changes: field.arrayOf(PolicyChange, 'The declarations that differ.', []),
    renamed: field.rows(
      'Parts that were only renamed.',
      {
        section: field.text('The section.', 'models'),
        from: field.text('The old name.', 'luna'),
        to: field.text('The new name.', 'gpt-6-luna'),
      },
      [],
    ),
    usd_per_credit: field.shapeOrNull('The worth of a Credit. In USD.', { a: Type.Number(), b: Type.Number() }),
    cases: field.orNull(
      Type.Array(
        Type.Object({
          name: field.text('The case.', 'greeting goes to the small model'),
          file: fileName,
          line: Type.Integer(),
          of: field.word(['both', 'a', 'b'], 'Which of the two has it.', 'both'),
          asks_otherwise: field.flag('Whether its request differs.', false),
          broken: field.rows(
            'What no longer holds.',
            {
              key: field.text('The key of `expect`.', 'model'),
              expected: field.text('What the case expects.', 'small'),
              got: field.text('What it got.', 'large'),
            },
            [],
          ),
          a: outcome('The outcome by `a`.'),
          b: outcome('The outcome by `b`.'),
          difference: field.shapeOrNull('`b` less `a`.', figures),
        }),
      ),
      'The cases that are decided differently, or no longer hold; null where one of the two cannot be loaded.',
    ),
    totals: field.shapeOrNull('Of all cases; null where one of the two cannot be loaded.', { cases: totals }),
    patch: field.text(
      'The texts’ difference, as a unified diff of the folder.',
      'diff --git a/models.yaml b/models.yaml\n',
    ),
  },
);

export const PolicyExplanation = field.named('PolicyExplanation', 'The decision for a request that was not sent.', {
  policy_revision: field.policyRevision,
  route_reason: field.textOrNull('As a request gets it; null for a refusal.', 'auto:balanced'),
  choice: field.textOrNull('The model; null for a refusal.', 'gpt-6-luna'),
  refusal: field.shapeOrNull('The error that a request would get; null for none.', {
    code: field.text('Its code.', 'no_eligible_model'),
    message: field.text('Its sentence.', 'No model fits.'),
  }),
  facts: Facts,
  ...CERTIFICATE,
  pareto_front: field.textList(
    'The eligible models that no other one equals in quality, cost and time and beats in one of them.',
    ['gpt-6-luna'],
  ),
  first_hold_credits: field.figureOrNull(
    'What would be held at first. In Credits. Null where it would wait or be refused; without a key, a team or a user only the first tranche of a hold that grows.',
    1.9,
  ),
  shortage: field.textOrNull('The code of the error with which it is refused for lack of money.', null),
  task_note: field.textOrNull('A sentence on a stated task that the policy does not know.', null),
  task_reasons: field.shapeOrNull('The words that decided the likeliest task; null where it is stated.', {
    task: field.text('The task.', 'coding'),
    share: field.share('The probability of this task.', 0.8),
    words: field.rows('The words.', {
      text: field.text('The word.', 'refactor'),
      of: field.text('Where it stands.', 'question'),
      adds: field.figure('How much it adds.', 1.2),
    }),
  }),
  failed_rules: field.rows(
    'Rules whose condition failed, and so counts as true.',
    { name: field.text('The rule.', 'eu-only'), error: field.text('The error.', 'no such key') },
    [],
  ),
  readings: field.word(
    ['present', 'declared'],
    '`declared`: the policy’s own figures, where no endpoint of it is in force.',
  ),
  is_funded: field.flag('Whether budgets and balances are considered: those of the key, the team or the user.', false),
  left_out_here: leftOut,
  usd_per_credit: field.text('The worth of a Credit. In USD, an exact decimal.', '0.001'),
});

export const PolicyWrite = field.named('PolicyWrite', 'An edit that is in force.', {
  object: field.always('policy.write'),
  revision: field.policyRevision,
  previous: field.text('The revision before it.', '95f1a7d5f908027b'),
  files: field.rows('The files that changed.', {
    name: fileName,
    change: field.word(['added', 'removed', 'changed'], 'How.', 'changed'),
  }),
  guarded,
  reload: PolicyReload,
  lagging: field.textList('Of pushes: the servers that did not have it in force after ten seconds.', []),
});

export const PolicyPushes = field.named('PolicyPushes', 'Revisions that were pushed.', {
  ...field.listOf(
    Type.Object({
      id: field.count('Its number, which grows with each push.', 3),
      revision: field.policyRevision,
      base: field.wholeOrNull('The number of the revision that it replaced; null for none.', 2),
      time: field.moment('When it was pushed.'),
      author: field.orNull(revisionActor, 'Who has pushed it, as the trail has it; null where it has that no more.', {
        kind: 'cli',
        name: 'root',
      }),
      state: field.word(
        ['offered', 'accepted', 'refused'],
        '`offered` until every server has judged it; `refused` is in force nowhere.',
        'accepted',
      ),
      reason: field.textOrNull('Why it is refused.', 'The server gateway-7d9f:1 refuses it: …'),
      is_in_force: field.flag('Whether it is in force at the servers that follow pushes.', true),
    }),
    'The newest first.',
  ),
  has_more: field.flag('Whether there are older ones.', false),
});

export const PolicyPatch = Type.String({ description: 'A unified diff, for `git apply` in the policy’s folder.' });

/** The JSON Schema of a policy. */
export const PolicyJsonSchema = Type.Object({}, { additionalProperties: true, description: 'A JSON Schema, draft 7.' });
