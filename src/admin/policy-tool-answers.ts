import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../core/api/diagnostic.ts';
import * as field from '../core/api/parts.ts';
import * as f from './kit/fields.ts';
import { fileName, guarded, PolicyChange } from './policy-shapes.ts';

/** The answers of the policy tools. */

const FramedDiagnostic = Type.Composite(
  [
    PolicyDiagnostic,
    Type.Object({
      end_column: field.count('The column after it.', 14),
      frame: field.text('The line with carets under the place, and the line before it; empty for none.', '> 1 | …'),
      help: field.text('What the code means.', 'A key does not exist in this section or map.'),
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

export const PolicyCheck = field.named('PolicyCheck', 'The result of a check.', {
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
  not_read: field.textList('Files of the folder that are not read; empty for a policy that is sent.', []),
  unchecked_teams: field.textList(
    'Teams in conditions of budgets of which it is unknown whether they exist, because a command has no database.',
    [],
  ),
});

const PLACE = { line: field.count('Its line, from 1.', 12), column: field.count('Its column, from 1.', 5) };

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

export const PolicyTest = field.named('PolicyTest', 'The results of cases.', {
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
    ...PLACE,
    ...CASE_OUTCOME,
    settings: field.rows('The same for each environment.', { settings, ...CASE_OUTCOME }),
  }),
  coverage: field.shapeOrNull('The rules and models that the cases which hold touch; null for a policy with errors.', {
    touched: field.count('The rules and models that a case touches.', 12),
    total: field.count('All rules and models.', 14),
    percent: field.figure('The share. In percent, rounded down to a tenth.', 85.7),
    min: field.figureOrNull('The least share that the command was given. In percent; null for none.', null),
    enough: field.flag('Whether the share is at least `min`.', true),
    untouched: field.rows('What no case touches.', {
      kind: field.word(['constraint', 'preference', 'model'], 'The kind.', 'constraint'),
      name: field.text('Its name.', 'eu-only'),
      file: fileName,
      ...PLACE,
    }),
  }),
});

const DiffSide = (description: string) =>
  field.shape(description, {
    name: field.text('The revision, or what it is.', '95f1a7d5f908027b'),
    kind: field.word(['folder', 'revision', 'git', 'bundle'], 'Where it is from.', 'revision'),
    loaded: field.flag('Whether it can be loaded.', true),
    message: Type.Optional(field.textOrNull('Why it cannot be loaded; null where `diagnostics` tell.')),
    ...f.allOptional(DIAGNOSTICS),
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
const TOTALS = {
  count: field.count('All of them.', 2),
  different: field.count('Those with another model, provider or error.', 1),
  answered_by_both: field.count('Those that both answer.', 2),
  a: field.shape('By `a`.', { refused: field.count('Refused by `a`.'), ...figures }),
  b: field.shape('By `b`.', { refused: field.count('Refused by `b`.'), ...figures }),
};
const SUMS = 'Sums of costs, and means of the rest, of those that both answer.';
const OUTCOMES = {
  a: outcome('The outcome by `a`.'),
  b: outcome('The outcome by `b`.'),
  difference: field.shapeOrNull('`b` less `a`.', figures),
};
const goal = (description: string) =>
  Type.Union(
    [
      Type.Object({ model: field.modelId('The model.'), provider: field.text('The provider.', 'openai') }),
      Type.Object({ refused: field.text('The code of the error.', 'no_eligible_model') }),
    ],
    { description },
  );
const REQUESTS_ONLY = 'Only of a command with `--requests`, otherwise null.';

export const PolicyDifference = field.named('PolicyDifference', 'Two policies compared.', {
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
  usd_per_credit: field.shapeOrNull('The worth of a Credit. In USD.', {
    a: field.figure('By `a`.', 0.001),
    b: field.figure('By `b`.', 0.001),
  }),
  cases: field.orNull(
    Type.Array(
      Type.Object({
        name: field.text('The case.', 'greeting goes to the small model'),
        file: fileName,
        line: PLACE.line,
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
        ...OUTCOMES,
      }),
    ),
    'The cases that are decided differently, or no longer hold; null where one of the two cannot be loaded.',
  ),
  requests: field.orNull(
    Type.Array(
      Type.Object({
        name: field.text('Its name, or its file and line.', 'requests.jsonl:3'),
        line: field.count('Its line.', 3),
        count: field.count('How many requests it stands for.', 1),
        ...OUTCOMES,
      }),
    ),
    `The requests that are decided differently, at most 10,000. ${REQUESTS_ONLY}`,
    null,
  ),
  requests_left_out: field.count('The different requests beyond those.', 0),
  moves: field.orNull(
    Type.Array(Type.Object({ from: goal('The choice by `a`.'), to: goal('The choice by `b`.'), ...TOTALS })),
    `The same by both outcomes, that of most requests first. ${REQUESTS_ONLY}`,
    null,
  ),
  totals: field.shapeOrNull('Of all cases; null where one of the two cannot be loaded.', {
    cases: field.shape(SUMS, { ...TOTALS, broken: field.count('Those that held by `a` and do not by `b`.') }),
    requests: field.shapeOrNull(`${SUMS} ${REQUESTS_ONLY}`, TOTALS, null),
  }),
  patch: field.text(
    'The texts’ difference, as a unified diff of the folder.',
    'diff --git a/models.yaml b/models.yaml\n',
  ),
});
