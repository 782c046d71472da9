import { Type } from '@sinclair/typebox';
import { HEALTH } from '../core/decision/readings.ts';
import * as f from '../core/define/fields.ts';
import { ENDPOINT_LIMITS } from '../core/policy/endpoint-room.ts';
import { plural } from '../core/text/text.ts';
import type { GuardHealth } from '../gateway/guards/guard-health.ts';
import type { Health } from '../providers/health/health.ts';
import { POLICY_ORIGINS } from '../store/instance-reports.ts';
import { NEWS_SUBJECTS } from '../store/news.ts';
import { GUARD_FAILURE } from './guard-list.ts';
import { operationsOn } from './kit/operation.ts';
import type { ClusterStatus as Cluster } from './use-cases/cluster.ts';
import { endpointStatus } from './use-cases/endpoints.ts';
import type { InstanceStatus as Instance } from './use-cases/instance.ts';
import type { Principal } from './use-cases/principal.ts';

const quantiles = (description: string, p50: number, p90: number) =>
  f.orNull(
    f.shape(`${description} Null without measurements.`, {
      p50: f.figure('The median.', p50),
      p90: f.figure('The 90th percentile.', p90),
    }),
  );

export const EndpointStatus = f.named('EndpointStatus', 'The health and speed of one upstream model at one provider.', {
  provider: f.text('Name of the provider in the policy.', 'openai'),
  model: f.text('ID of the model in the policy.', 'gpt-6-luna'),
  upstream: f.text('The provider’s own name for the model.', 'gpt-6-luna-2026-09-01'),
  key: f.orNull(
    f.text(
      'The key of the provider’s pool: its variable, with the number of the key if the variable holds several. Null for a provider with one key.',
      'OPENAI_API_KEY_2',
    ),
  ),
  state: f.word(
    Object.keys(HEALTH),
    '`ejected`: the circuit breaker is open. `cooling`: the provider answered 429 and asked for a pause. `misconfigured`: the provider refuses the API key. `out_of_credit`: the account at the provider has no credit left. `absent`: the server does not have the model.',
    'ejected',
  ),
  since: f.inCommand(
    f.orNull(
      f.moment(
        'When the endpoint entered this state; null if it has had no other state since this server started.',
        '2026-11-20T09:30:00.000Z',
      ),
    ),
    { text: f.secondText },
  ),
  why: f.orNull(
    f.text('Why the endpoint is not healthy; null if it is healthy.', '5 faults in a row; the last: timeout'),
  ),
  breaker: f.shape('The circuit breaker of the endpoint.', {
    state: f.word(
      ['closed', 'open', 'half_open'],
      '`open` until `retry_at`, then `half_open`: one attempt is allowed, and a complete answer closes the breaker.',
      'open',
    ),
    faults_in_a_row: f.count('Faults since the last complete answer.', 5),
    opens_at_faults_in_a_row: f.as('faultsInARowMax', f.count('The breaker opens after this many faults in a row.', 5)),
    recent_answers: f.as('answers', f.count('Complete answers and faults in the last 10 seconds.', 6)),
    recent_faults: f.as('faults', f.count('Faults in the last 10 seconds.', 5)),
    opens_at_fault_share: f.as(
      'faultShareMax',
      f.share('The breaker also opens if faults reach this share of answers in the last 10 seconds.', 0.5),
    ),
    opens_from_answers: f.as(
      'answersMin',
      f.count('The share of faults counts only from this many answers and faults.', 20),
    ),
  }),
  declared: f.orNull(
    f.shape('The speed that the policy declares.', {
      ttft_ms: f.milliseconds('Time to the first token, ms.', 400),
      warm_ttft_ms: f.milliseconds(
        'Time to the first token if most of the prompt is in the provider’s cache, ms.',
        200,
      ),
      tokens_per_second: f.as('outputTokensPerSecond', f.figure('Rate of output.', 90)),
      basis: f.word(
        ['stated', 'estimated', 'neutral', 'slow'],
        '`stated`: the policy states the speed. `estimated`: the median of similar models. `neutral` and `slow`: defaults that are the same for all models.',
        'stated',
      ),
    }),
    'The speed that the policy declares. Compare it with the measured speed below.',
  ),
  recent_attempts: f.count('Attempts that ended in the last 15 minutes.', 96),
  recent_faults: f.count('Attempts in the last 15 minutes that failed.', 3),
  recent_share: f.figureOrNull(
    'The endpoint’s share of the recent attempts at its model; null if there were none.',
    0.75,
  ),
  cached_share: f.figureOrNull(
    'The share of the input tokens of the last 15 minutes that the provider read from its prompt cache; null if there were none.',
    0.62,
  ),
  retry_at: f.inCommand(
    f.orNull(
      f.moment('When the endpoint can be tried again; null if it can be tried now.', '2026-11-20T09:30:12.000Z'),
    ),
    // Many pauses last only seconds.
    { text: f.secondText },
  ),
  ttft_ms: quantiles('Time to the first token, ms.', 412.5, 901),
  warm_ttft_ms: quantiles(
    'Time to the first token for prompts that were mostly in the provider’s cache, ms.',
    180.2,
    333,
  ),
  tokens_per_second: quantiles('Rate of output.', 88.1, 120.4),
  attempts: f.mapOf(Type.Integer(), 'Attempts by outcome: `ok`, `dropped`, or the kind of failure.', {
    ok: 1_204,
    timeout: 7,
  }),
  retries: f.count('Attempts for requests that had already tried this provider.', 5),
  retries_denied: f.count('Retries that the provider’s retry budget denied.', 0),
  ejections: f.count('How often the circuit breaker opened.', 1),
  limits: f.list(
    f.shape('A limit.', {
      limit: f.word(ENDPOINT_LIMITS, 'The key in the policy.', 'requests_per_minute'),
      most: f.count('The figure in the policy.', 500),
      used: f.share(
        'The used share. Servers that share a database count together, except that `concurrent_requests` has only the requests of this server.',
        0.42,
      ),
    }),
    'The limits that the policy states for the endpoint.',
  ),
  broken_declaration: f.as(
    'broken',
    f.orNull(
      f.shape('The broken declaration.', {
        since: f.moment('When the provider first broke this promise.', '2026-11-20T09:30:12.000Z'),
        excess_credits: f.as(
          'excess',
          f.credits('Amounts that the provider billed beyond the holds, and that no key pays.', 0.42),
        ),
        margin_tokens: f.count('As declared.', 64),
        margin_ms: f.milliseconds('As declared.', 250),
      }),
      'The value of `after_abort` that the provider did not keep. Until the policy declares another value, Signalbox holds the full amount. Null if the provider kept its promise.',
    ),
  ),
});

export const EndpointList = f.named('EndpointList', 'The endpoints of the active policy.', {
  object: f.always('list'),
  data: f.list(EndpointStatus, 'Endpoints, sorted by provider, model, upstream model and key.'),
});

export const InstanceStatus = f.named('InstanceStatus', 'This server, one of the servers that share a database.', {
  version: f.text('The build of this server: its version and, after the plus sign, its commit.', '0.2.0+7e7a9e75'),
  policy_revision: f.text(
    'The active policy of this server. Servers that share a database may differ while a policy is rolled out.',
    '95f1a7d5f908027b',
  ),
  slot: f.count('The number of the server’s slot, 0 to 127; always 0 with a data folder for a single server.', 0),
  epoch: f.count('A number that grows with each server that takes the slot.', 12),
  is_current: f.flag(
    'Whether this server may write to the database. If it may not, it refuses requests that cost money.',
  ),
  problem: f.orNull(
    f.text(
      'If the server may not write: what happened and what to do, in one sentence; null otherwise.',
      'The database cannot be written: another server has taken over this data folder; stop this one.',
    ),
  ),
  clock_offset_ms: Type.Integer({
    description:
      'The clock of the database minus the clock of this server, in ms. IDs and budget windows use the clock of the database.',
    examples: [0],
  }),
  copies: f.list(
    f.shape('A copy.', {
      subject: f.word(NEWS_SUBJECTS, 'The kind of data.', 'keys'),
      age_ms: f.wholeOrNull(
        'How long this server may not know of a change by another server, in ms; null before the first read.',
        0,
      ),
    }),
    'The data of the database that this server caches in memory.',
  ),
  failing_guards: f.as(
    'failingGuards',
    f.list(
      f.shape('A guard.', { name: f.text('The name of the guard in the policy.', 'personal-data'), ...GUARD_FAILURE }),
      'The guards that fail at every request to this server, for example because their services are down.',
    ),
  ),
});

export const ClusterStatus = f.named('ClusterStatus', 'The servers that use this database.', {
  object: f.always('cluster'),
  is_split: f.flag('Whether the servers run different policies, or the same policy with different variables set.'),
  data: f.as(
    'instances',
    f.list(
      f.shape('A server.', {
        slot: f.count('The number of the server’s slot, 0 to 127.', 0),
        epoch: f.count('A number that grows with each server that takes the slot.', 12),
        name: f.text('The server’s host name and process ID.', 'gateway-7d9f:1'),
        version: f.text('The build of the server.', '0.2.0+7e7a9e75'),
        policy_revision: f.as('revision', f.text('The active policy of the server.', '95f1a7d5f908027b')),
        policy_since: f.as(
          'since',
          f.moment('When this policy became active on the server.', '2026-11-20T09:30:00.000Z'),
        ),
        policy_rank: f.as(
          'rank',
          f.count(
            'The rank of the server’s budgets. The server with the greatest rank decides the limits for all servers.',
            7,
          ),
        ),
        policy_error: f.as(
          'error',
          f.orNull(
            f.text(
              'Why the last policy that the server read is not active; null if it is active.',
              'policy.yaml:3:5 unknown-key: `modles` is no key',
            ),
          ),
        ),
        policies_from: f.as(
          'follows',
          f.word(POLICY_ORIGINS, 'Whether the server uses its policy files, or follows pushed revisions.', 'files'),
        ),
        pushed: f.wholeOrNull(
          'The number of the pushed revision that is active on the server; null if the server uses files.',
          3,
        ),
        clock_offset_ms: Type.Integer({
          description: 'The clock of the database minus the clock of the server, in ms, at its last change.',
          examples: [0],
        }),
        renewed: f.orNull(
          f.moment(
            'When the server last renewed its slot; null on SQLite, which uses the lock of the data folder instead.',
          ),
        ),
      }),
      'The servers, by slot. On SQLite there is only one server.',
    ),
  ),
});

/** The services that the operation on servers uses. */
export interface ClusterServices {
  /** Returns the running servers with their last reports. Rejects with StoreError. */
  cluster(by: Principal): Promise<Cluster>;
}

/** The operation of `GET /admin/cluster` and `signalbox instances`. */
export const showCluster = operationsOn<ClusterServices>()({
  name: 'instances',
  use: 'to check that all servers run the same policy and version.',
  example: 'instances',
  http: 'GET /admin/cluster',
  action: 'status.read',
  summary: 'List the servers that use the database',
  details:
    'Returns every running server that uses this database, with its last report: its active policy, why a later policy is not active, its version and its clock. The exit code of `./signalbox instances` is 2 if servers run different policies.',
  output: ClusterStatus,
  answer: 'The servers.',
  isFinding: ({ is_split }: { readonly is_split: boolean }) => is_split,
  prints: {
    columns: [
      ...['slot', 'name', 'version', 'policy_revision', 'policy_rank', 'policies_from', 'policy_since'],
      ...['clock_offset_ms', 'policy_error'],
    ],
    sum: ({ is_split, data }: { is_split: boolean; data: readonly { pushed: number | null }[] }) => {
      if (data.length === 0) return 'No running server uses this database.\n';
      if (!is_split) return `${data.length === 1 ? 'One server runs' : `${data.length} servers run one policy`}.\n`;
      const isOnePush = new Set(data.map(({ pushed }) => pushed)).size === 1 && data[0]?.pushed;
      return `The servers ${isOnePush ? 'run the same push with different variables set, so their providers differ' : 'run different policies'}.\n`;
    },
  },
  run: async ({ cluster }, { by }) => await cluster(by),
});

/** The sources of a server’s status. Only a running process has them. */
export interface StatusServices extends ClusterServices {
  readonly health: Pick<Health, 'samples'>;
  readonly guardHealth: GuardHealth;
  instance(by: Principal): Instance;
}
const operation = operationsOn<StatusServices>();

/** The operation of `GET /admin/endpoints` and `signalbox endpoints list`. */
export const listEndpoints = operationsOn<Pick<StatusServices, 'health'>>()({
  name: 'endpoints list',
  use: 'to see which models and keys of providers cannot serve now, and why.',
  example: 'endpoints list',
  http: 'GET /admin/endpoints',
  action: 'endpoints.read',
  summary: 'List endpoints with their health',
  details:
    'Returns the state, circuit breaker, speed and attempts of every endpoint of the active policy, and the speed that the policy declares. Counts begin when the server starts. Speeds are recent measurements. Without a running server, the list is empty.',
  output: EndpointList,
  answer: 'The endpoints.',
  prints: {
    columns: [
      ...['provider', 'model', 'upstream', 'key', 'state', 'since', 'retry_at', 'recent_attempts', 'recent_faults'],
      'why',
    ],
    sum: ({ data }: { readonly data: readonly { readonly state: string }[] }) => {
      if (data.length === 0)
        return 'No running server uses this data folder, so the health of endpoints is not known.\n';
      const sick = data.filter(({ state }) => state !== 'healthy').length;
      return `${sick === 0 ? 'All' : `${data.length - sick} of`} ${plural(data.length, 'endpoint')} ${data.length === 1 ? 'is' : 'are'} healthy.\n`;
    },
  },
  run: async ({ health }, { by }) => ({ data: endpointStatus(by, health) }),
});

/** The operation of `GET /admin/status`. */
export const showStatus = operation({
  name: 'status',
  command: false,
  http: 'GET /admin/status',
  action: 'status.read',
  summary: 'Show this server’s state at its database',
  details:
    'Returns the slot of this server among the servers of its database, and the age of its cached data. If the server may not write any more, `problem` says what happened and what to do.',
  output: InstanceStatus,
  answer: 'The status.',
  run: async ({ instance }, { by }) => instance(by),
});
