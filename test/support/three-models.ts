import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from './policies.ts';
import { type Signalbox, type StartOptions, startSignalbox } from './signalbox.ts';

export interface ThreeModels {
  readonly box: Signalbox;
  /** The upstream of `best`. */
  readonly first: FakeUpstream;
  /** The upstream of `plain`. */
  readonly second: FakeUpstream;
  /** The upstream of `hasty`, which has a very short timeout. */
  readonly third: FakeUpstream;
  /** Starts another server with the same models and no knowledge of its upstreams. The new server stops together with the first servers. */
  afresh(): Promise<Signalbox>;
  readonly makeKey: Signalbox['makeKey'];
  stop(): Promise<void>;
}

/**
 * Tests send requests with a new key until the server knows the key, so failed authentication is not limited. Keys of one kind can send a
 * single request a minute. The wait for funds held by other requests is short.
 */
const LIMITS = `gateway: { failed_auth_per_minute: 1000000, retries_max: 0 }
ledger: { contention_wait_ms: 200 }
rate_limits: [{ name: once, each: key, match: key.labels.pace == "once", requests_per_minute: 1 }]
`;

/** Starts a server with three models, each on its own upstream. */
export async function startThreeModels(options: Pick<StartOptions, 'isProcess'> = {}): Promise<ThreeModels> {
  const [first, second, third] = [1, 2, 3].map(() => startFakeUpstream({ key: UPSTREAM_KEY })) as [
    FakeUpstream,
    FakeUpstream,
    FakeUpstream,
  ];
  const policy = testPolicy(
    { first: first.url, second: second.url, third: third.url },
    {
      best: { endpoints: ['first'], price: { input: 1, output: 4 }, quality: 0.9 },
      plain: { endpoints: ['second'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
      hasty: { endpoints: ['third'], quality: 0.1, more: '    deadlines: { first_token_ms: 100, total_ms: 150 }\n' },
    },
    LIMITS,
  );
  const box = await startSignalbox({ ...options, policy, env: UPSTREAM_ENV });
  const others: Signalbox[] = [];
  return {
    box,
    first,
    second,
    third,
    async afresh() {
      const other = await startSignalbox({ policy, env: UPSTREAM_ENV });
      others.push(other);
      return other;
    },
    makeKey: box.makeKey,
    async stop() {
      await Promise.all([box, ...others].map((one) => one.stop()));
      await Promise.all([first, second, third].map((upstream) => upstream.stop()));
    },
  };
}
