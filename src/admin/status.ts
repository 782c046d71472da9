import { Type } from '@sinclair/typebox';
import * as parts from '../core/api/parts.ts';
import { HEALTH } from '../core/readings.ts';
import type { Health } from '../providers/health/health.ts';
import { POLICY_ORIGINS } from '../store/instance-reports.ts';
import { NEWS_SUBJECTS } from '../store/news.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import type { ClusterStatus as Cluster } from './use-cases/cluster.ts';
import { endpointStatus } from './use-cases/endpoints.ts';
import type { InstanceStatus as Instance } from './use-cases/instance.ts';
import type { Principal } from './use-cases/principal.ts';

const quantiles = (description: string, p50: number, p90: number) =>
  f.orNull(
    f.shape(`${description} Null without measurements.`, {
      p50: parts.figure('The median.', p50),
      p90: parts.figure('The 90th percentile.', p90),
    }),
  );

export const EndpointStatus = f.named('EndpointStatus', 'The health and speed of one upstream model at one provider.', {
  provider: f.text('Name of the provider in the policy.', 'openai'),
  model: f.text('ID of the model in the policy.', 'gpt-6-luna'),
  upstream: f.text('The provider’s name for the model.', 'gpt-6-luna-2026-09-01'),
  state: f.word(
    Object.keys(HEALTH),
    '`ejected`: the circuit breaker is open; `cooling`: after a 429; `misconfigured`: the provider refuses the key; `out_of_credit`: the account at the provider has no credit left.',
    'ejected',
  ),
  since: f.orNull(
    f.moment(
      'Since when it is in that state; null while it was in no other since this server started.',
      '2026-11-20T09:30:00.000Z',
    ),
  ),
  why: f.orNull(f.text('Why it is not healthy; null where it is.', '5 faults in a row; the last: timeout')),
  breaker: f.shape('Its circuit breaker.', {
    state: f.word(
      ['closed', 'open', 'half_open'],
      '`open` until `retry_at`, then `half_open`: one attempt may try, and its answer closes it.',
      'open',
    ),
    faults_in_a_row: f.count('Faults since the last complete answer.', 5),
    opens_at_faults_in_a_row: f.as('faultsInARowMax', f.count('So many open it.', 5)),
    recent_answers: f.as('answers', f.count('Complete answers and faults of the last 10 seconds.', 6)),
    recent_faults: f.as('faults', f.count('The faults among them.', 5)),
    opens_at_fault_share: f.as('faultShareMax', parts.share('This share of faults opens it, too.', 0.5)),
    opens_from_answers: f.as('answersMin', f.count('From so many answers and faults on.', 20)),
  }),
  declared: f.orNull(
    f.shape('The speed by the policy.', {
      ttft_ms: parts.milliseconds('Time to the first token, ms.', 400),
      warm_ttft_ms: parts.milliseconds('The same with most of the prompt in the provider’s cache.', 200),
      tokens_per_second: f.as('outputTokensPerSecond', parts.figure('Rate of output.', 90)),
      basis: f.word(
        ['stated', 'estimated', 'neutral'],
        '`stated` by the policy; else `estimated` from models of its kind, or `neutral`, the same for all.',
        'stated',
      ),
    }),
    'The speed that the policy declares, to compare with the measured one below.',
  ),
  recent_attempts: f.count('Attempts that ended in the last 15 minutes.', 96),
  recent_faults: f.count('Those among them that failed.', 3),
  recent_share: parts.figureOrNull('Its share of the recent attempts at its model; null for none.', 0.75),
  retry_at: f.orNull(
    f.moment('The time from which it is tried again. Null where it may be tried now.', '2026-11-20T09:30:12.000Z'),
  ),
  ttft_ms: quantiles('Time to the first token, ms.', 412.5, 901),
  warm_ttft_ms: quantiles(
    'Time to the first token where most of the prompt was in the provider’s cache, ms.',
    180.2,
    333,
  ),
  tokens_per_second: quantiles('Rate of output.', 88.1, 120.4),
  attempts: f.mapOf(Type.Integer(), 'Attempts by outcome: `ok`, `dropped`, or the kind of failure.', {
    ok: 1_204,
    timeout: 7,
  }),
  retries: f.count('Attempts of requests that had tried this provider before.', 5),
  retries_denied: f.count('Retries that the provider’s retry budget denied.', 0),
  ejections: f.count('How often the circuit breaker opened.', 1),
  broken_declaration: f.as(
    'broken',
    f.orNull(
      f.shape('The broken declaration.', {
        since: f.moment('When it was first broken.', '2026-11-20T09:30:12.000Z'),
        excess_credits: f.as('excess', f.credits('Billed beyond what was held, which nobody was charged.', 0.42)),
        margin_tokens: parts.tokens('As declared.', 64),
        margin_ms: parts.milliseconds('As declared.', 250),
      }),
      'The `after_abort` that it has not kept: it is held whole until the policy declares another. Null for none.',
    ),
  ),
});

export const EndpointList = f.named('EndpointList', 'The endpoints of the policy in force.', {
  object: f.always('list'),
  data: f.list(EndpointStatus, 'By provider, model and upstream model.'),
});

export const InstanceStatus = f.named('InstanceStatus', 'This server among those of its database.', {
  version: f.text('The build that answers: its version and, behind the plus, its commit.', '0.2.0-dev+7e7a9e75'),
  policy_revision: f.text(
    'The policy in force here; instances of one database may differ while a policy is rolled out.',
    '95f1a7d5f908027b',
  ),
  slot: f.count('The number of its place, 0 to 127; 0 for the one server of a data folder.', 0),
  epoch: f.count('Grows with each server that takes the place.', 12),
  is_current: f.flag('Whether it may write. Where it may not, it refuses requests that cost.'),
  problem: f.orNull(
    f.text(
      'Where it may not write, what happened and what to do, in one sentence.',
      'The database cannot be written: another server has taken over this data folder; stop this one.',
    ),
  ),
  clock_offset_ms: Type.Integer({
    description:
      'The clock of the database less that of this server, in ms. IDs and windows of budgets go by the former.',
    examples: [0],
  }),
  copies: f.list(
    f.shape('A copy.', {
      subject: f.word(NEWS_SUBJECTS, 'What it is.', 'keys'),
      age_ms: parts.wholeOrNull(
        'For how long a change by another server may be unknown, in ms; null before the first reading.',
        0,
      ),
    }),
    'What it keeps in memory of the database.',
  ),
});

export const ClusterStatus = f.named('ClusterStatus', 'The servers that run at this database.', {
  object: f.always('cluster'),
  is_split: f.flag('Whether they run different policies, or one with different variables set.'),
  data: f.as(
    'instances',
    f.list(
      f.shape('A server.', {
        slot: f.count('The number of its place, 0 to 127.', 0),
        epoch: f.count('Grows with each server that takes the place.', 12),
        name: f.text('Its host and the ID of its process.', 'gateway-7d9f:1'),
        version: f.text('Its build.', '0.2.0-dev+7e7a9e75'),
        policy_revision: f.as('revision', f.text('The policy in force there.', '95f1a7d5f908027b')),
        policy_since: f.as('since', f.moment('Since when it is.', '2026-11-20T09:30:00.000Z')),
        policy_rank: f.as(
          'rank',
          f.count('The rank of its budgets: the greatest decides the limits of all servers.', 7),
        ),
        policy_error: f.as(
          'error',
          f.orNull(
            f.text(
              'Why the last policy that it read is not in force there.',
              'policy.yaml:3:5 unknown-key: `modles` is no key',
            ),
          ),
        ),
        policies_from: f.as(
          'follows',
          f.word(POLICY_ORIGINS, 'Whether it follows its files, or the revisions that are pushed.', 'files'),
        ),
        pushed: parts.wholeOrNull('The number of the pushed revision in force there; null for files.', 3),
        clock_offset_ms: Type.Integer({
          description: 'The clock of the database less its own, in ms, as it was when it last changed.',
          examples: [0],
        }),
        renewed: f.orNull(
          f.moment('When it last renewed its place; null on SQLite, where the lock of the folder is it.'),
        ),
      }),
      'By slot. On SQLite there is one.',
    ),
  ),
});

/** What the operation on servers works with. */
export interface ClusterServices {
  /** The servers that run, as they last reported. Rejects with StoreError. */
  cluster(by: Principal): Promise<Cluster>;
}

/** `GET /admin/cluster` and `signalbox instances`. */
export const showCluster = operationsOn<ClusterServices>()({
  name: 'instances',
  http: 'GET /admin/cluster',
  action: 'status.read',
  summary: 'The servers at the database',
  details:
    'Returns every server that runs at this database, as it last reported: its active policy, why a later one is not active, its version and its clock. The exit code of `./signalbox instances` is 2 when servers run different policies.',
  output: ClusterStatus,
  answer: 'The servers.',
  isFinding: ({ is_split }: { readonly is_split: boolean }) => is_split,
  prints: {
    columns: [
      ...['slot', 'name', 'version', 'policy_revision', 'policy_rank', 'policies_from', 'policy_since'],
      ...['clock_offset_ms', 'policy_error'],
    ],
    sum: ({ is_split, data }: { is_split: boolean; data: readonly { pushed: number | null }[] }) => {
      if (data.length === 0) return 'No server runs at this database.\n';
      if (!is_split) return `${data.length === 1 ? 'One server runs' : `${data.length} servers run one policy`}.\n`;
      const isOnePush = new Set(data.map(({ pushed }) => pushed)).size === 1 && data[0]?.pushed;
      return `The servers ${isOnePush ? 'run one push with different variables set: providers differ' : 'run different policies'}.\n`;
    },
  },
  run: async ({ cluster }, { by }) => await cluster(by),
});

/** The sources of a server’s status. Only the running process has them. */
export interface StatusServices extends ClusterServices {
  readonly health: Pick<Health, 'samples'>;
  instance(by: Principal): Instance;
}
const operation = operationsOn<StatusServices>();

/** `/admin/status`, `/admin/cluster` and `/admin/endpoints`. */
export const STATUS_OPERATIONS = [
  operation({
    name: 'status',
    command: false,
    http: 'GET /admin/status',
    action: 'status.read',
    summary: 'This server at its database',
    details:
      'Returns the place of this server among those of its database, and the age of what it keeps in memory. Where the server may not write any more, `problem` says what happened and what to do.',
    output: InstanceStatus,
    answer: 'The status.',
    run: async ({ instance }, { by }) => instance(by),
  }),
  showCluster,
  operation({
    name: 'endpoints',
    command: false,
    http: 'GET /admin/endpoints',
    action: 'endpoints.read',
    summary: 'Health of endpoints',
    details:
      'Returns the state, circuit breaker, speed and attempts of every endpoint of the active policy, with the speed that the policy declares. Counts begin with the start of this server; speeds are recent.',
    output: EndpointList,
    answer: 'The endpoints.',
    run: async ({ health }, { by }) => ({ data: endpointStatus(by, health) }),
  }),
];
