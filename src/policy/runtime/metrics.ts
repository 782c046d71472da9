import { gauge, gaugeBy, totalBy } from '../../host/telemetry/counts.ts';
import type { Family } from '../../host/telemetry/families.ts';
import { rounded } from '../../providers/health/metrics.ts';
import type { Reloader } from './reload.ts';
import type { Runtime } from './runtime.ts';
import type { SecretStatus } from './secret-files.ts';

/** The active policy and its reloads. The figures are read when the page of metrics is made. */
export type PolicyFigures = Pick<Reloader, 'lease' | 'status'>;

/**
 * Metrics about the build, the active policy and its reloads.
 * @param version version of the build
 */
export const policyFamilies = (policy: PolicyFigures, version: string): readonly Family[] => [
  gaugeBy('signalbox_build_info', 'The version of the program that answers.', 'version', () => [[version, 1]]),
  gaugeBy('signalbox_policy_info', 'The revision of the active policy.', 'revision', () => [
    [policy.status().revision, 1],
  ]),
  gauge('signalbox_policy_models', 'Models that can be served.', () => policy.lease().snapshot.models.length),
  gauge('signalbox_usd_per_credit', 'USD that one Credit is worth.', () =>
    Number(policy.lease().snapshot.usdPerCredit),
  ),
  totalBy('signalbox_policy_reloads_total', 'Checks of the policy files, by result.', 'result', () =>
    Object.entries(policy.status().counts),
  ),
  gauge(
    'signalbox_policy_last_reload_failed',
    '1 while the policy files are refused, or the active policy fails its test cases.',
    () => (policy.status().last.result === 'refused' || policy.status().failsCases ? 1 : 0),
  ),
  gauge(
    'signalbox_policy_last_reload_success_timestamp_seconds',
    'Unix time at which the policy files were last valid.',
    () => policy.status().lastSuccess / 1000,
  ),
  gauge(
    'signalbox_policy_last_reload_duration_seconds',
    'Time from the last edit until the policy was applied or refused.',
    () => policy.status().last.tookMs / 1000,
  ),
  gaugeBy(
    'signalbox_secret_file_unusable',
    '1 while the file of a secret cannot be used; its last value stays in use.',
    'variable',
    () => secretsOf(policy, false).map(({ variable, problem }) => [variable, problem === null ? 0 : 1]),
  ),
  gaugeBy(
    'signalbox_token_source_failing',
    '1 while the last fetch of a token failed, or the credentials file cannot be used; the last token serves until its end.',
    'variable',
    () => secretsOf(policy, true).map(({ variable, problem }) => [variable, problem === null ? 0 : 1]),
  ),
  gaugeBy(
    'signalbox_token_source_expiry_timestamp_seconds',
    'Unix time at which the token of a token source ends; 0 without a valid token. Absent for tokens without a known end.',
    'variable',
    () =>
      secretsOf(policy, true)
        .filter(({ isSet, expiresAt }) => !isSet || expiresAt !== null)
        .map(({ variable, expiresAt }) => [variable, (expiresAt ?? 0) / 1000]),
  ),
];

/** The secrets from token sources, or from files. */
const secretsOf = (policy: PolicyFigures, isSourced: boolean): readonly SecretStatus[] =>
  policy.status().secrets.filter(({ source }) => (source === 'file') !== isSourced);

/** Metrics about the expected lengths of answers, by the tasks of the active policy. */
export function taskFamilies(lease: () => Runtime): readonly Family[] {
  const of = (figure: (runtime: Runtime, task: string, at: number) => number) => () => {
    const runtime = lease();
    return runtime.snapshot.tasks.map(({ name }, at) => [name, rounded(figure(runtime, name, at))] as const);
  };
  const expected = of(({ readings }, _, at) => readings().outputTokens[at]!);
  const answers = of(({ outputs }, task) => outputs.weight(task));
  return [
    gaugeBy('signalbox_task_output_tokens', 'Visible output tokens that a decision expects.', 'task', expected),
    gaugeBy(
      'signalbox_task_answers',
      'Weight of observed answers in signalbox_task_output_tokens; the declared figure is expected until the weight is 20.',
      'task',
      answers,
    ),
  ];
}
