import { Type } from '@sinclair/typebox';
import { PolicyDiagnostic } from '../core/api/diagnostic.ts';
import { modelId, policyRevision, routeReason } from '../core/decision/shared-fields.ts';
import * as f from '../core/define/fields.ts';
import { DIFFICULTIES } from '../core/request/facts.ts';
import { TIER_LISTED_MAX } from '../core/request/tiers.ts';
import { fileName, guarded, PolicyChange, statedTiers } from './policy-shapes.ts';

/** This file has the answers of the policy tools. */

const FramedDiagnostic = Type.Composite(
  [
    PolicyDiagnostic,
    Type.Object({
      end_column: f.count('The column after the end of the mistake.', 14),
      frame: f.text(
        'The line with the mistake, marked by carets, and the line before it; empty if the location has no line.',
        '> 1 | …',
      ),
      help: f.text('What the code of the diagnostic means.', 'A key does not exist in this section or map.'),
    }),
  ],
  {
    title: 'FramedPolicyDiagnostic',
    description: 'One mistake in a policy, with its location and the line of the file.',
  },
);

const DIAGNOSTICS = {
  errors: f.count('The number of errors.'),
  warnings: f.count('The number of warnings.'),
  diagnostics: f.list(FramedDiagnostic, 'Every mistake, sorted by location.', []),
};

const leftOut = f.textList(
  'Providers that cannot serve with the variables that are set here, each with the reason.',
  [],
);

const Choice = Type.Object({
  selector: f.text('The selector.', 'auto-cheap'),
  task: f.text('The task.', 'coding'),
  difficulty: f.word(DIFFICULTIES, 'The difficulty.', 'usual'),
  model: f.textOrNull('The chosen model; null for a refusal.', 'gpt-6-luna'),
  because: f.textOrNull(
    'Why the selector chose the model, in one sentence; null if no order of the selector decided.',
    'gpt-6-luna costs least within 0.25 of the best quality (0.915 of 0.94); the request is not hard',
  ),
  provider: f.textOrNull('The provider that would be tried first.', 'openai'),
  reason: f.textOrNull('`route_reason`.', 'auto-cheap:usual'),
  cost_credits: f.figureOrNull('The expected cost. In Credits.', 0.46),
  cost_usd: f.figureOrNull('The same cost in USD.', 0.00046),
  latency_ms: f.figureOrNull('The expected time. In ms.', 2_300),
  quality: f.figureOrNull('The expected share of good answers.', 0.71),
  refused: f.textOrNull('The code of the error; null if a model is chosen.', null),
});

export const PolicyCheck = f.named('PolicyCheck', 'The result of a check.', {
  ...DIAGNOSTICS,
  files: f.textList('The files.', ['models.yaml']),
  models: f.wholeOrNull('The number of models; null for a policy with errors.', 4),
  wildcards: f.wholeOrNull('The number of wildcards; null for a policy with errors.', 0),
  cases: f.wholeOrNull('The number of cases; null for a policy with errors.', 2),
  left_out_here: leftOut,
  amounts_in_usd: f.rows('The limits and ceilings that the policy states in USD; empty for a policy with errors.', {
    path: f.text('The path of the amount.', 'budgets.team-month.limit_usd'),
    usd: f.text('The amount in USD, an exact decimal.', '20'),
    credits: f.credits('The amount in Credits, rounded down.', 20_000),
  }),
  choices: f.orNull(
    Type.Array(Choice),
    'What each selector chooses for a request of each task and difficulty, at most 10,000 choices; null unless the check asks for `choices`, for a policy with errors, and if no provider can serve.',
    null,
  ),
  orders: f.orNull(
    Type.Array(
      Type.Object({
        selector: f.text('The selector.', 'auto'),
        order: f.textList(`The first models of its order, at most ${TIER_LISTED_MAX}.`, ['gpt-6-luna', 'gpt-6.1-sol']),
        stated: statedTiers,
      }),
    ),
    'The order of the selectors that order their models once; null whenever `choices` is null.',
    null,
  ),
  guarded,
  not_read: f.textList(
    'Files in the folder that are not part of the policy; empty if the policy was sent in the request.',
    [],
  ),
  unchecked_teams: f.textList(
    'Teams that conditions of budgets name, but whose existence was not checked because a command has no database.',
    [],
  ),
});

const PLACE = { line: f.count('The line, from 1.', 12), column: f.count('The column, from 1.', 5) };

const CASE_OUTCOME = {
  status: f.word(['holds', 'failed', 'not_run'], 'The result.', 'holds'),
  missing: f.rows(
    'Models and providers that the case needs but that cannot serve.',
    {
      name: f.text('The name of the model or provider.', 'gpt-6-luna'),
      reason: f.text('Why it cannot serve.', 'OPENAI_API_KEY is not set'),
    },
    [],
  ),
  failures: f.rows(
    'Expectations of the case that are not met.',
    {
      key: f.text('The key of `expect`.', 'model'),
      expected: f.text('What the case expects.', 'small'),
      got: f.text('What it got.', 'large'),
      hint: f.textOrNull('Why the expectation is not met.'),
    },
    [],
  ),
  choice: f.textOrNull('The chosen model; null for a refusal, and if the case did not run.', 'gpt-6-luna'),
  provider: f.textOrNull('The provider that would be tried first.', 'openai'),
  reason: f.textOrNull('`route_reason`.', 'auto:usual'),
  cost_credits: f.figureOrNull('The expected cost. In Credits.', 0.46),
  cost_usd: f.figureOrNull('The same cost in USD.', 0.00046),
  latency_ms: f.figureOrNull('The expected time. In ms.', 2_300),
  quality: f.figureOrNull('The expected share of good answers.', 0.71),
};

const settings = f.list(
  f.word(['all_set', 'here'], 'Which variables counted as set: `all_set`, or only the variables that are set here.'),
  'Where it ran.',
);

export const PolicyTest = f.named('PolicyTest', 'The results of cases.', {
  ...DIAGNOSTICS,
  counts: f.shapeOrNull('The number of cases by result; null for a policy with errors, because its cases do not run.', {
    cases: f.count('All selected cases.', 2),
    hold: f.count('Those that hold.', 2),
    failed: f.count('Those that fail.', 0),
    not_run: f.count('Cases that cannot run here.', 0),
  }),
  settings: f.rows('The environments.', { names: settings, policy_revision: policyRevision }),
  left_out_here: leftOut,
  cases: f.rows('The cases, in the order of the policy.', {
    name: f.text('The name of the case.', 'greeting goes to the small model'),
    file: fileName,
    ...PLACE,
    ...CASE_OUTCOME,
    settings: f.rows('The results of the case, one for each setting of variables.', { settings, ...CASE_OUTCOME }),
  }),
  coverage: f.shapeOrNull('The rules and models that successful cases use; null for a policy with errors.', {
    touched: f.count('The number of rules and models that at least one case uses.', 12),
    total: f.count('The number of all rules and models.', 14),
    percent: f.figure('The share that is used by cases. In percent, rounded down to a tenth.', 85.7),
    min: f.figureOrNull('The minimum that the command was given. In percent; null for none.', null),
    enough: f.flag('Whether the share is at least `min`.', true),
    untouched: f.rows('The rules and models that no case uses.', {
      kind: f.word(['constraint', 'preference', 'model'], 'The kind.', 'constraint'),
      name: f.text('The name of the rule or model.', 'eu-only'),
      file: fileName,
      ...PLACE,
    }),
  }),
});

const DiffSide = (description: string) =>
  f.shape(description, {
    name: f.text('The revision, or a description of the policy.', '95f1a7d5f908027b'),
    kind: f.word(['folder', 'revision', 'git', 'bundle'], 'Where the policy comes from.', 'revision'),
    loaded: f.flag('Whether the policy can be loaded.', true),
    message: Type.Optional(f.textOrNull('Why the policy cannot be loaded; null if `diagnostics` has the reasons.')),
    ...f.allOptional(DIAGNOSTICS),
  });

const figures = {
  cost_credits: f.figure('The expected cost. In Credits.', 0.46),
  cost_usd: f.figure('The same cost in USD.', 0.00046),
  latency_ms: f.figureOrNull('The expected time. In ms.', 2_300),
  quality: f.figureOrNull('The expected share of good answers.', 0.71),
};
const outcome = (description: string) =>
  Type.Union(
    [
      Type.Object({
        model: modelId('The model.'),
        provider: f.text('The provider.', 'openai'),
        reason: routeReason,
        ...figures,
      }),
      Type.Object({
        refused: f.text('The code of the error.', 'no_eligible_model'),
        message: f.text('The error in a sentence.', 'No model fits.'),
      }),
    ],
    { description },
  );
const TOTALS = {
  count: f.count('All of them.', 2),
  different: f.count('Requests for which the model, the provider or the error differs.', 1),
  answered_by_both: f.count('Requests that both policies answer.', 2),
  a: f.shape('With policy `a`.', { refused: f.count('Requests that policy `a` refuses.'), ...figures }),
  b: f.shape('With policy `b`.', { refused: f.count('Requests that policy `b` refuses.'), ...figures }),
};
const SUMS = 'The sum of costs, and the means of the other figures, for requests that both policies answer.';
const OUTCOMES = {
  a: outcome('The outcome by `a`.'),
  b: outcome('The outcome by `b`.'),
  difference: f.shapeOrNull('`b` less `a`.', figures),
};
const goal = (description: string) =>
  Type.Union(
    [
      Type.Object({ model: modelId('The model.'), provider: f.text('The provider.', 'openai') }),
      Type.Object({ refused: f.text('The code of the error.', 'no_eligible_model') }),
    ],
    { description },
  );
const REQUESTS_ONLY = 'Null unless a command has `--requests`.';

export const PolicyDifference = f.named('PolicyDifference', 'Two policies compared.', {
  a: DiffSide('The earlier one.'),
  b: DiffSide('The later one.'),
  changes: f.list(PolicyChange, 'The declarations that differ.', []),
  renamed: f.rows(
    'Items that were only renamed.',
    {
      section: f.text('The section.', 'models'),
      from: f.text('The old name.', 'luna'),
      to: f.text('The new name.', 'gpt-6-luna'),
    },
    [],
  ),
  usd_per_credit: f.shapeOrNull('The value of a Credit in each policy. In USD.', {
    a: f.figure('In policy `a`.', 0.001),
    b: f.figure('In policy `b`.', 0.001),
  }),
  cases: f.orNull(
    Type.Array(
      Type.Object({
        name: f.text('The case.', 'greeting goes to the small model'),
        file: fileName,
        line: PLACE.line,
        of: f.word(['both', 'a', 'b'], 'Which of the two policies has the case.', 'both'),
        asks_otherwise: f.flag('Whether the request of the case differs between the policies.', false),
        broken: f.rows(
          'Expectations that policy `a` met and policy `b` does not meet.',
          {
            key: f.text('The key of `expect`.', 'model'),
            expected: f.text('What the case expects.', 'small'),
            got: f.text('What it got.', 'large'),
          },
          [],
        ),
        ...OUTCOMES,
      }),
    ),
    'The cases that are decided differently or no longer hold; null if one of the policies cannot be loaded.',
  ),
  requests: f.orNull(
    Type.Array(
      Type.Object({
        name: f.text('The name of the request, or its file and line.', 'requests.jsonl:3'),
        line: f.count('The line of the request.', 3),
        count: f.count('How many equal requests this entry represents.', 1),
        ...OUTCOMES,
      }),
    ),
    `The requests that are decided differently, at most 10,000. ${REQUESTS_ONLY}`,
    null,
  ),
  requests_left_out: f.count('The number of such requests beyond 10,000.', 0),
  moves: f.orNull(
    Type.Array(Type.Object({ from: goal('The choice by `a`.'), to: goal('The choice by `b`.'), ...TOTALS })),
    `The same requests grouped by both outcomes, the largest group first. ${REQUESTS_ONLY}`,
    null,
  ),
  totals: f.shapeOrNull('Totals for all cases; null if one of the policies cannot be loaded.', {
    cases: f.shape(SUMS, {
      ...TOTALS,
      broken: f.count('Cases that hold with policy `a` and fail with policy `b`.'),
    }),
    requests: f.shapeOrNull(`${SUMS} ${REQUESTS_ONLY}`, TOTALS, null),
  }),
  patch: f.text(
    'The difference of the texts, as a unified diff of the folder.',
    'diff --git a/models.yaml b/models.yaml\n',
  ),
});
