import type { Behaviour } from '../support/fake-upstream.ts';
import { type FakeUpstream, type RecordedRequest, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { deadlinesOf, FAULTS, FORMS, type Form, SETTINGS, type Setting } from './faults.ts';
import { type Asked, type Fault, KINDS, type Kind, VERDICTS } from './outcome.ts';
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts';

/** A fault in one form and one setting. Each has a model and a provider of its own: what health makes of one stays there. */
export interface Case {
  /** Names its model and its provider. */
  readonly id: string;
  readonly fault: Fault;
  readonly form: Form;
  readonly setting: Setting;
  /** The `model` to ask for. */
  readonly asks: string;
  /** Requests that its own upstream has read. */
  calls: number;
  /** Whether one of them came on a connection that had brought another before. */
  reused: boolean;
  /** Resolved by whoever reads the answer, once content has come. */
  seen: PromiseWithResolvers<void>;
}

/** What the healthy upstream says, and what it reports for it. */
export const HEALTHY_TEXT = 'All is well.';
export const HEALTHY_USAGE = { prompt_tokens: 13, completion_tokens: 3, total_tokens: 16 } as const;

/** What a policy has that says nothing of it. */
const RETRIES_MAX = 2;

const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

export const CASES: readonly Case[] = FAULTS.flatMap((fault) =>
  FORMS.flatMap((form) =>
    SETTINGS.map((setting): Case => {
      const id = `${slugOf(fault.name)}-${form.toLowerCase()}-${setting}`;
      const asks = setting === 'fallback' ? `pick-${id}` : id;
      return { id, fault, form, setting, asks, calls: 0, reused: false, seen: Promise.withResolvers() };
    }),
  ),
);

/** By the kind of failure: where a fault comes again and again, alone and with another endpoint. */
export const AGAIN: readonly { readonly kind: Kind; readonly alone: Case; readonly beside: Case }[] = KINDS.map(
  (kind) => {
    const fault = FAULTS.find(({ name }) => name === VERDICTS[kind].shownBy)!;
    const caseOf = (setting: Setting): Case => {
      const id = `again-${kind.replace('_', '-')}-${setting}`;
      return { id, fault, form: 'JSON', setting, asks: id, calls: 0, reused: false, seen: Promise.withResolvers() };
    };
    return { kind, alone: caseOf('alone'), beside: caseOf('endpoint') };
  },
);

/** Whose first attempt costs so much that there may be no other: what was reported is owed, though nothing came of it. */
export const POOR: readonly Case[] = FORMS.map((form): Case => {
  const id = `poor-${form.toLowerCase()}`;
  const fault = FAULTS.find(({ name }) => name === 'an answer without choices')!;
  return {
    id,
    fault,
    form,
    setting: 'fallback',
    asks: `pick-${id}`,
    calls: 0,
    reused: false,
    seen: Promise.withResolvers(),
  };
});

const ALL: readonly Case[] = [...CASES, ...AGAIN.flatMap(({ alone, beside }) => [alone, beside]), ...POOR];

export interface Stage {
  readonly box: Signalbox;
  /** Requests that reached somebody whom nobody should have talked to. */
  readonly trapped: number;
  stop(): Promise<void>;
}

/** Starts an upstream for every case and the real server before them. */
export async function setStage(): Promise<Stage> {
  const healthy = startFakeUpstream({
    key: UPSTREAM_KEY,
    behaviour: { text: HEALTHY_TEXT, usage: HEALTHY_USAGE },
  });
  const http = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: playHttp });
  let trapped = 0;
  const untrusted = await startRawUpstream(() => trapped++, { tls: true });
  const raw = new Map<Case, RawUpstream>();
  await Promise.all(ALL.map(async (one) => startRaw(one, raw)));
  const addresses = {
    nobody: `http://127.0.0.1:${portOfNobody()}/v1`,
    unresolvable: 'http://nonexistent.invalid/v1',
    untrusted: `https://127.0.0.1:${untrusted.port}/v1`,
    plain: `https://127.0.0.1:${http.port}/v1`,
  };
  const urlOf = (one: Case): string => {
    const { upstream } = one.fault;
    if (upstream.speaks === 'nothing') return addresses[upstream.address];
    return upstream.speaks === 'http' ? http.url : `http://127.0.0.1:${raw.get(one)!.port}/v1`;
  };
  const box = await startSignalbox({ policy: policyOf(healthy, urlOf), env: UPSTREAM_ENV });
  return {
    box,
    get trapped() {
      return trapped;
    },
    async stop() {
      await box.stop();
      for (const server of [untrusted, ...raw.values()]) server.stop();
      await Promise.all([healthy.stop(), http.stop()]);
    },
  };
}

function policyOf(healthy: FakeUpstream, urlOf: (one: Case) => string): string {
  const upstreams = Object.fromEntries(ALL.map((one) => [one.id, urlOf(one)]));
  const models = Object.fromEntries(
    ALL.map(({ id, fault, setting }) => {
      const { firstTokenMs, idleMs, totalMs } = deadlinesOf(fault);
      const more = `    deadlines: { first_token_ms: ${firstTokenMs}, idle_ms: ${idleMs}, total_ms: ${totalMs} }\n`;
      return [id, { endpoints: setting === 'endpoint' ? [id, 'healthy'] : [id], quality: 0.9, more }];
    }),
  );
  const selectors = ALL.filter(({ setting }) => setting === 'fallback').map(
    ({ id, asks }) => `  ${asks}: { strategy: auto, models: { require: 'model.id in ["${id}", "healthy"]' } }`,
  );
  return testPolicy(
    { ...upstreams, healthy: healthy.url },
    { ...models, healthy: { endpoints: ['healthy'], quality: 0.2 } },
    `selectors:\n${selectors.join('\n')}\ngateway: { retries_max: ${RETRIES_MAX} }\n`,
  );
}

/** Cases by the name that their upstream knows their model by. */
const byUpstreamName = new Map(ALL.map((one) => [`${one.id}-upstream`, one]));

function playHttp({ body }: RecordedRequest): Behaviour {
  const one = byUpstreamName.get(String(body.model));
  if (one?.fault.upstream.speaks !== 'http') return { status: 404 };
  one.calls++;
  return one.fault.upstream.behaviour(askedOf(one, 1));
}

const askedOf = ({ form, seen }: Case, nth: number): Asked => ({ stream: form === 'SSE', nth, seen: seen.promise });

/** A server for this case alone: whoever breaks connections breaks none of the others. */
async function startRaw(one: Case, servers: Map<Case, RawUpstream>): Promise<void> {
  const { upstream } = one.fault;
  if (upstream.speaks !== 'bytes') return;
  const server = await startRawUpstream((line, { nth }) => {
    one.calls++;
    one.reused ||= nth > 1;
    return upstream.play(line, askedOf(one, nth));
  });
  servers.set(one, server);
}

/** A port that nobody listens on any more. */
function portOfNobody(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = server;
  server.stop(true);
  return port;
}
