import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../core/api/diagnostic.ts';
import * as field from '../core/api/parts.ts';
import { TIER_LISTED_MAX } from '../core/policy/tiers.ts';
import { DIFFICULTIES } from '../core/request/facts.ts';
import * as f from './kit/fields.ts';
import { fileName, guarded, PolicyChange, statedTiers } from './policy-shapes.ts';

/** This file has the answers of the policy tools. */

const FramedDiagnostic = Type.Composite(
  [
    PolicyDiagnostic,
    Type.Object({
      end_column: field.count('The column after the end of the mistake.', 14),
      frame: field.text(
        'The line with the mistake, marked by carets, and the line before it; empty if the location has no line.',
        '> 1 | …',
      ),
      help: field.text('What the code of the diagnostic means.', 'A key does not exist in this section or map.'),
    }),
  ],
  {
    title: 'FramedPolicyDiagnostic',
    description: 'One mistake in a policy, with its location and the line of the file.',
  },
);

const DIAGNOSTICS = {
  errors: field.count('The number of errors.'),
  warnings: field.count('The number of warnings.'),
  diagnostics: field.arrayOf(FramedDiagnostic, 'Every mistake, sorted by location.', []),
};

const leftOut = field.textList(
  'Providers that cannot serve with the variables that are set here, each with the reason.',
  [],
);

const Choice = Type.Object({
  selector: field.text('The selector.', 'auto-cheap'),
  task: field.text('The task.', 'coding'),
  difficulty: field.word(DIFFICULTIES, 'The difficulty.', 'usual'),
  model: field.textOrNull('The chosen model; null for a refusal.', 'gpt-6-luna'),
  because: field.textOrNull(
    'Why the selector chose the model, in one sentence; null if no order of the selector decided.',
    'gpt-6-luna costs least within 0.25 of the best quality (0.915 of 0.94); the request is not hard',
  ),
  provider: field.textOrNull('The provider that would be tried first.', 'openai'),
  reason: field.textOrNull('`route_reason`.', 'auto-cheap:usual'),
  cost_credits: field.figureOrNull('The expected cost. In Credits.', 0.46),
  cost_usd: field.figureOrNull('The same cost in USD.', 0.00046),
  latency_ms: field.figureOrNull('The expected time. In ms.', 2_300),
  quality: field.figureOrNull('The expected share of good answers.', 0.71),
  refused: field.textOrNull('The code of the error; null if a model is chosen.', null),
});

export const PolicyCheck = field.named('PolicyCheck', 'The result of a check.', {
  ...DIAGNOSTICS,
  files: field.textList('The files.', ['models.yaml']),
  models: field.wholeOrNull('The number of models; null for a policy with errors.', 4),
  wildcards: field.wholeOrNull('The number of wildcards; null for a policy with errors.', 0),
  cases: field.wholeOrNull('The number of cases; null for a policy with errors.', 2),
  left_out_here: leftOut,
  amounts_in_usd: field.rows('The limits and ceilings that the policy states in USD; empty for a policy with errors.', {
    path: field.text('The path of the amount.', 'budgets.team-month.limit_usd'),
    usd: field.text('The amount in USD, an exact decimal.', '20'),
    credits: field.credits('The amount in Credits, rounded down.', 20_000),
  }),
  choices: field.orNull(
    Type.Array(Choice),
    'What each selector chooses for a request of each task and difficulty, at most 10,000 choices; null unless the check asks for `choices`, for a policy with errors, and if no provider can serve.',
    null,
  ),
  orders: field.orNull(
    Type.Array(
      Type.Object({
        selector: field.text('The selector.', 'auto'),
        order: field.textList(`The first models of its order, at most ${TIER_LISTED_MAX}.`, [
          'gpt-6-luna',
          'gpt-6.1-sol',
        ]),
        stated: statedTiers,
      }),
    ),
    'The order of the selectors that order their models once; null whenever `choices` is null.',
    null,
  ),
  guarded,
  not_read: field.textList(
    'Files in the folder that are not part of the policy; empty if the policy was sent in the request.',
    [],
  ),
  unchecked_teams: field.textList(
    'Teams that conditions of budgets name, but whose existence was not checked because a command has no database.',
    [],
  ),
});

const PLACE = { line: field.count('The line, from 1.', 12), column: field.count('The column, from 1.', 5) };

const CASE_OUTCOME = {
  status: field.word(['holds', 'failed', 'not_run'], 'The result.', 'holds'),
  missing: field.rows(
    'Models and providers that the case needs but that cannot serve.',
    {
      name: field.text('The name of the model or provider.', 'gpt-6-luna'),
      reason: field.text('Why it cannot serve.', 'OPENAI_API_KEY is not set'),
    },
    [],
  ),
  failures: field.rows(
    'Expectations of the case that are not met.',
    {
      key: field.text('The key of `expect`.', 'model'),
      expected: field.text('What the case expects.', 'small'),
      got: field.text('What it got.', 'large'),
      hint: field.textOrNull('Why the expectation is not met.'),
    },
    [],
  ),
  choice: field.textOrNull('The chosen model; null for a refusal, and if the case did not run.', 'gpt-6-luna'),
  provider: field.textOrNull('The provider that would be tried first.', 'openai'),
  reason: field.textOrNull('`route_reason`.', 'auto:usual'),
  cost_credits: field.figureOrNull('The expected cost. In Credits.', 0.46),
  cost_usd: field.figureOrNull('The same cost in USD.', 0.00046),
  latency_ms: field.figureOrNull('The expected time. In ms.', 2_300),
  quality: field.figureOrNull('The expected share of good answers.', 0.71),
};

const settings = field.arrayOf(
  field.word(
    ['all_set', 'here'],
    'Which variables counted as set: `all_set`, or only the variables that are set here.',
  ),
  'Where it ran.',
);

export const PolicyTest = field.named('PolicyTest', 'The results of cases.', {
  ...DIAGNOSTICS,
  counts: field.shapeOrNull(
    'The number of cases by result; null for a policy with errors, because its cases do not run.',
    {
      cases: field.count('All selected cases.', 2),
      hold: field.count('Those that hold.', 2),
      failed: field.count('Those that fail.', 0),
      not_run: field.count('Cases that cannot run here.', 0),
    },
  ),
  settings: field.rows('The environments.', { names: settings, policy_revision: field.policyRevision }),
  left_out_here: leftOut,
  cases: field.rows('The cases, in the order of the policy.', {
    name: field.text('The name of the case.', 'greeting goes to the small model'),
    file: fileName,
    ...PLACE,
    ...CASE_OUTCOME,
    settings: field.rows('The results of the case, one for each setting of variables.', { settings, ...CASE_OUTCOME }),
  }),
  coverage: field.shapeOrNull('The rules and models that successful cases use; null for a policy with errors.', {
    touched: field.count('The number of rules and models that at least one case uses.', 12),
    total: field.count('The number of all rules and models.', 14),
    percent: field.figure('The share that is used by cases. In percent, rounded down to a tenth.', 85.7),
    min: field.figureOrNull('The minimum that the command was given. In percent; null for none.', null),
    enough: field.flag('Whether the share is at least `min`.', true),
    untouched: field.rows('The rules and models that no case uses.', {
      kind: field.word(['constraint', 'preference', 'model'], 'The kind.', 'constraint'),
      name: field.text('The name of the rule or model.', 'eu-only'),
      file: fileName,
      ...PLACE,
    }),
  }),
});

const DiffSide = (description: string) =>
  field.shape(description, {
    name: field.text('The revision, or a description of the policy.', '95f1a7d5f908027b'),
    kind: field.word(['folder', 'revision', 'git', 'bundle'], 'Where the policy comes from.', 'revision'),
    loaded: field.flag('Whether the policy can be loaded.', true),
    message: Type.Optional(field.textOrNull('Why the policy cannot be loaded; null if `diagnostics` has the reasons.')),
    ...f.allOptional(DIAGNOSTICS),
  });

const figures = {
  cost_credits: field.figure('The expected cost. In Credits.', 0.46),
  cost_usd: field.figure('The same cost in USD.', 0.00046),
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
        message: field.text('The error in a sentence.', 'No model fits.'),
      }),
    ],
    { description },
  );
const TOTALS = {
  count: field.count('All of them.', 2),
  different: field.count('Requests for which the model, the provider or the error differs.', 1),
  answered_by_both: field.count('Requests that both policies answer.', 2),
  a: field.shape('With policy `a`.', { refused: field.count('Requests that policy `a` refuses.'), ...figures }),
  b: field.shape('With policy `b`.', { refused: field.count('Requests that policy `b` refuses.'), ...figures }),
};
const SUMS = 'The sum of costs, and the means of the other figures, for requests that both policies answer.';
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
const REQUESTS_ONLY = 'Null unless a command has `--requests`.';

export const PolicyDifference = field.named('PolicyDifference', 'Two policies compared.', {
  a: DiffSide('The earlier one.'),
  b: DiffSide('The later one.'),
  changes: field.arrayOf(PolicyChange, 'The declarations that differ.', []),
  renamed: field.rows(
    'Items that were only renamed.',
    {
      section: field.text('The section.', 'models'),
      from: field.text('The old name.', 'luna'),
      to: field.text('The new name.', 'gpt-6-luna'),
    },
    [],
  ),
  usd_per_credit: field.shapeOrNull('The value of a Credit in each policy. In USD.', {
    a: field.figure('In policy `a`.', 0.001),
    b: field.figure('In policy `b`.', 0.001),
  }),
  cases: field.orNull(
    Type.Array(
      Type.Object({
        name: field.text('The case.', 'greeting goes to the small model'),
        file: fileName,
        line: PLACE.line,
        of: field.word(['both', 'a', 'b'], 'Which of the two policies has the case.', 'both'),
        asks_otherwise: field.flag('Whether the request of the case differs between the policies.', false),
        broken: field.rows(
          'Expectations that policy `a` met and policy `b` does not meet.',
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
    'The cases that are decided differently or no longer hold; null if one of the policies cannot be loaded.',
  ),
  requests: field.orNull(
    Type.Array(
      Type.Object({
        name: field.text('The name of the request, or its file and line.', 'requests.jsonl:3'),
        line: field.count('The line of the request.', 3),
        count: field.count('How many equal requests this entry represents.', 1),
        ...OUTCOMES,
      }),
    ),
    `The requests that are decided differently, at most 10,000. ${REQUESTS_ONLY}`,
    null,
  ),
  requests_left_out: field.count('The number of such requests beyond 10,000.', 0),
  moves: field.orNull(
    Type.Array(Type.Object({ from: goal('The choice by `a`.'), to: goal('The choice by `b`.'), ...TOTALS })),
    `The same requests grouped by both outcomes, the largest group first. ${REQUESTS_ONLY}`,
    null,
  ),
  totals: field.shapeOrNull('Totals for all cases; null if one of the policies cannot be loaded.', {
    cases: field.shape(SUMS, {
      ...TOTALS,
      broken: field.count('Cases that hold with policy `a` and fail with policy `b`.'),
    }),
    requests: field.shapeOrNull(`${SUMS} ${REQUESTS_ONLY}`, TOTALS, null),
  }),
  patch: field.text(
    'The difference of the texts, as a unified diff of the folder.',
    'diff --git a/models.yaml b/models.yaml\n',
  ),
});
