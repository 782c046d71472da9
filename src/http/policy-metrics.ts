import { gauge } from '../telemetry/counts.ts';
import type { Family } from '../telemetry/families.ts';
import type { PolicyAdmin } from './admin.ts';

/** What is in force: the build, and the policy with its reloads. */
export const policyFamilies = (policy: Pick<PolicyAdmin, 'lease' | 'status'>, version: string): readonly Family[] => [
  {
    name: 'signalbox_build_info',
    help: 'The build that answers.',
    labels: ['version'],
    type: 'gauge',
    samples: () => [[{ version }, 1]],
  },
  {
    name: 'signalbox_policy_info',
    help: 'The policy in force.',
    labels: ['revision'],
    type: 'gauge',
    samples: () => [[{ revision: policy.status().revision }, 1]],
  },
  gauge('signalbox_policy_models', 'Models that can be served.', () => policy.lease().snapshot.models.length),
  {
    name: 'signalbox_policy_reloads_total',
    help: 'Looks at the policy’s files, by their result.',
    labels: ['result'],
    type: 'counter',
    samples: () => Object.entries(policy.status().counts).map(([result, count]) => [{ result }, count]),
  },
  gauge('signalbox_policy_last_reload_failed', '1 while the files hold a policy that was refused.', () =>
    policy.status().last.result === 'refused' ? 1 : 0,
  ),
  gauge(
    'signalbox_policy_last_reload_success_timestamp_seconds',
    'When the files were last found fit to serve, Unix time.',
    () => policy.status().lastSuccess / 1000,
  ),
  gauge(
    'signalbox_policy_last_reload_duration_seconds',
    'How long the last look at the files took, from the edit until the policy was in force or refused.',
    () => policy.status().last.tookMs / 1000,
  ),
];
