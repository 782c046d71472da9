import { instanceOf } from '../../../../plugins/providers/simulated/instance.ts';
import { type Behaviour, startFakeUpstream } from '../../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../../support/signalbox.ts';
import type { ClientEnvironment } from './language.ts';

/** The models of the faulty server, each with the behaviour of its provider. */
export const FAULTS = {
  /** The provider answers. */
  healthy: { text: 'Hello from the provider.' },
  /** The provider answers with 429. */
  'rate-limited': { fail: 'rate_limited' },
  /** The provider answers with 500. */
  broken: { fail: 'server' },
  /** The provider reports that the prompt is too long. */
  'too-long': { fail: 'context' },
  /** The connection breaks after the third event of a stream. */
  cut: { text: ['One ', 'two ', 'three ', 'four.'], cutAfter: 3 },
  /** The provider answers after two seconds. */
  slow: { text: 'Hello, late.', headersAfterMs: 2_000 },
} as const satisfies Readonly<Record<string, Behaviour>>;

/** The servers that all clients call. */
export interface ClientStage {
  readonly shipped: Signalbox;
  readonly faulty: Signalbox;
  readonly claude: Signalbox;
  /** Makes new keys for one client. @returns the keys and the addresses */
  environmentOf(client: string): Promise<ClientEnvironment>;
  /** Returns `GET /v1/usage` for a key of the server with the shipped policy. */
  usageOf(key: string): Promise<KeyUsage>;
  stop(): Promise<void>;
}

export interface KeyUsage {
  readonly calls: number;
  /** Tokens. */
  readonly input: number;
  /** Tokens. */
  readonly output: number;
  readonly credits: number;
}

type UsageDay = Readonly<Record<'charges' | 'input_tokens' | 'output_tokens', number>>;

interface UsageAnswer {
  readonly days: readonly UsageDay[];
  readonly total_credits: number;
}

const isFault = (model: string): model is keyof typeof FAULTS => Object.hasOwn(FAULTS, model);

/** Starts a server with the shipped policy, a server with a failing provider, and a server with a Claude model. */
export async function startClientStage(): Promise<ClientStage> {
  const upstream = startFakeUpstream({
    key: UPSTREAM_KEY,
    behaviour({ asked }) {
      const model = asked.model.replace('-upstream', '');
      return isFault(model) ? FAULTS[model] : {};
    },
  });
  const models = Object.fromEntries(Object.keys(FAULTS).map((name) => [name, { endpoints: ['faulty'] }]));
  const anthropic = startFakeUpstream({
    dialect: 'anthropic',
    key: UPSTREAM_KEY,
    behaviour: ({ asked }) => (asked.schema === null ? {} : { text: JSON.stringify(instanceOf(asked.schema)) }),
  });
  const start = (policy: string) => startSignalbox({ policy: policy, env: UPSTREAM_ENV });
  const [shipped, faulty, claude] = await Promise.all([
    startSignalbox(),
    start(testPolicy({ faulty: upstream.url }, models, 'gateway: { retries_max: 0, commit_after_ms: 100 }\n')),
    start(
      testPolicy(
        { anthropic: { url: anthropic.url, adapter: 'anthropic' } },
        { 'claude-opus-5-5': { endpoints: ['anthropic'], capabilities: ['tools', 'json_schema', 'reasoning'] } },
      ),
    ),
  ]);
  return {
    shipped,
    faulty,
    claude,
    async environmentOf(client) {
      const key = (box: Signalbox, what: string, ...flags: string[]) =>
        box.makeKey('--name', `${client} ${what}`, ...flags);
      return {
        SIGNALBOX_URL: shipped.url,
        SIGNALBOX_KEY: await key(shipped, 'counted'),
        UNCOUNTED_KEY: await key(shipped, 'uncounted'),
        EMPTY_KEY: await key(shipped, 'empty', '--budget', '0.000001/total:reject'),
        FAULTY_URL: faulty.url,
        FAULTY_KEY: await key(faulty, 'faulty'),
        CLAUDE_URL: claude.url,
        CLAUDE_KEY: await key(claude, 'claude'),
      };
    },
    async usageOf(key) {
      const answer = await fetch(`${shipped.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
      const { days, total_credits: credits } = (await answer.json()) as UsageAnswer;
      const sum = (name: keyof UsageDay) => days.reduce((before, day) => before + day[name], 0);
      return { calls: sum('charges'), input: sum('input_tokens'), output: sum('output_tokens'), credits };
    },
    async stop() {
      await Promise.all([shipped, faulty, claude, upstream, anthropic].map((each) => each.stop()));
    },
  };
}
