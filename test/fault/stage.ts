import { isDeep } from '../deep/effort.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY, withCompletions } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import type { Dialect } from './dialect.ts';
import { DIALECTS, deadlinesOf, FAULTS, FORMS, type Form, outcomeOf, type Setting, settingsOf } from './faults.ts';
import { type FailureKind, type Fault, KINDS, type Outcome, type UpstreamRequest, VERDICTS } from './outcome.ts';
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts';
import { type CallerSurface, chat, hasTools } from './surfaces.ts';
import { openai } from './wire-openai.ts';

/**
 * A fault in one dialect of a caller and one dialect of an upstream, in one form and setting. Each case of a fault has its own model and
 * provider, so that endpoint health stays separate.
 */
export interface Case {
  /** The name of the case's model and provider. */
  readonly id: string;
  readonly fault: Fault;
  /** The dialect of the caller. */
  readonly surface: CallerSurface;
  /** The dialect of the upstream. */
  readonly dialect: Dialect;
  readonly form: Form;
  readonly setting: Setting;
  readonly outcome: Outcome;
  /** The `model` of the request. */
  readonly asks: string;
  /** How many requests its own upstream has read. */
  calls: number;
  /** True if a request of the case reused a connection. */
  reused: boolean;
  /** Resolved when the reader of the answer has read the first content. */
  seen: PromiseWithResolvers<void>;
}

/** The answer of the healthy upstream, and its usage. */
export const HEALTHY_TEXT = 'All is well.';
export const HEALTHY_USAGE = { prompt_tokens: 13, completion_tokens: 3, total_tokens: 16 } as const;

/** The default of a policy. */
const RETRIES_MAX = 2;

const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

/** @returns null if the fault does not apply */
function caseOf(
  prefix: string,
  fault: Fault,
  surface: CallerSurface,
  dialect: Dialect,
  form: Form,
  setting: Setting,
): Case | null {
  if (fault.tool !== undefined && !hasTools(surface)) return null;
  const outcome = outcomeOf(fault, form, dialect);
  if (outcome === null || (fault.isUnruly && surface.passes === dialect.name)) return null;
  const id = [prefix, surface.name, dialect.name, form.toLowerCase(), setting].join('-');
  const asks = setting === 'fallback' ? `pick-${id}` : id;
  const seen = Promise.withResolvers<void>();
  return { id, fault, surface, dialect, form, setting, outcome, asks, calls: 0, reused: false, seen };
}

/** All cases for callers that speak this dialect. */
export const casesOf = (surface: CallerSurface): readonly Case[] =>
  FAULTS.flatMap((fault) =>
    (surface.wires ?? DIALECTS).flatMap((dialect) =>
      FORMS.flatMap((form) =>
        settingsOf(fault, dialect).flatMap(
          (setting) => caseOf(slugOf(fault.name), fault, surface, dialect, form, setting) ?? [],
        ),
      ),
    ),
  );

const named = (name: string): Fault => FAULTS.find((fault) => fault.name === name)!;

/** For each kind of failure: a fault to repeat, alone and with another endpoint. */
export const AGAIN: readonly { readonly kind: FailureKind; readonly alone: Case; readonly beside: Case }[] = KINDS.map(
  (kind) => {
    const again = (setting: Setting) =>
      caseOf(`again-${kind.replace('_', '-')}`, named(VERDICTS[kind].shownBy), chat, openai, 'JSON', setting)!;
    return { kind, alone: again('alone'), beside: again('endpoint') };
  },
);

/** Cases whose first attempt uses up the money. The usage that the failed attempt reported is charged. */
export const POOR: readonly Case[] = FORMS.map(
  (form) => caseOf('poor', named('an answer without choices'), chat, openai, form, 'fallback')!,
);

export interface Stage {
  readonly box: Signalbox;
  /** How many requests reached a server that must get none. */
  readonly trapped: number;
  stop(): Promise<void>;
}

/** Starts an upstream for each of these cases, and a real server that uses them. */
export async function setStage(all: readonly Case[]): Promise<Stage> {
  const healthy = startFakeUpstream({
    key: UPSTREAM_KEY,
    behaviour: { text: HEALTHY_TEXT, usage: HEALTHY_USAGE },
  });
  const http = startHttpUpstream(all);
  let trapped = 0;
  const untrusted = await startRawUpstream(() => trapped++, { tls: true });
  const raw = new Map<Case, RawUpstream>();
  await Promise.all(all.map(async (one) => startRaw(one, raw)));
  const addresses = {
    nobody: `http://127.0.0.1:${freePort()}`,
    unresolvable: 'http://nonexistent.invalid',
    untrusted: untrusted.url,
    plain: http.url.replace('http:', 'https:'),
  };
  const urlOf = (one: Case): string => {
    const { upstream } = one.fault;
    if (upstream.speaks === 'nothing') return addresses[upstream.address] + one.dialect.base;
    if (upstream.speaks === 'http') return `${http.url}/${one.id}${one.dialect.base}`;
    return raw.get(one)!.url + one.dialect.base;
  };
  const box = await startSignalbox({ isProcess: isDeep, policy: policyOf(all, healthy.url, urlOf), env: UPSTREAM_ENV });
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

function policyOf(all: readonly Case[], healthy: string, urlOf: (one: Case) => string): string {
  const upstreams = Object.fromEntries(all.map((one) => [one.id, { url: urlOf(one), adapter: one.dialect.adapter }]));
  const models = Object.fromEntries(
    all.map(({ id, fault, setting, dialect: { model } }) => {
      const { firstTokenMs, idleMs, totalMs } = deadlinesOf(fault);
      const deadlines = `    deadlines: { first_token_ms: ${firstTokenMs}, idle_ms: ${idleMs}, total_ms: ${totalMs} }\n`;
      const endpoints = setting === 'endpoint' ? [id, 'healthy'] : [id];
      // Without this, hidden reasoning would be part of the expected tokens.
      const more = model ? `${deadlines}    reasoning_tokens: 0\n` : deadlines;
      return [id, { endpoints, quality: 0.9, more, ...model }];
    }),
  );
  const selectors = all
    .filter(({ setting }) => setting === 'fallback')
    .map(({ id, asks }) => `  ${asks}: { strategy: auto, models: { require: 'model.id in ["${id}", "healthy"]' } }`);
  return withCompletions(
    testPolicy(
      { ...upstreams, healthy },
      { ...models, healthy: { endpoints: ['healthy'], quality: 0.2 } },
      // A stream sends no status before its first content, however busy the machine is.
      `selectors:\n${selectors.join('\n')}\ngateway: { retries_max: ${RETRIES_MAX}, answers_bytes_max: 8589934592, commit_after_ms: 600000 }\n`,
    ),
  );
}

/** A server for all cases with valid HTTP. The first path segment names the case; the rest belongs to its dialect. */
function startHttpUpstream(all: readonly Case[]): OwnServer {
  const cases = new Map(all.map((one) => [one.id, one]));
  return startOwnServer(async (request) => {
    const { pathname, search } = new URL(request.url);
    const one = cases.get(pathname.split('/')[1]!);
    if (one?.fault.upstream.speaks !== 'http') return new Response(null, { status: 418 });
    const { base, path, auth } = one.dialect;
    const received = requestOf(one, 1);
    const isThere = pathname + search === `/${one.id}${base}${path(`${one.id}-upstream`, received.stream)}`;
    const isKnown = request.headers.get(auth.header) === auth.prefix + UPSTREAM_KEY;
    // A status that no fault uses.
    if (!isThere || !isKnown || request.method !== 'POST') return new Response(null, { status: 418 });
    one.calls++;
    return one.fault.upstream.answer(received);
  });
}

const requestOf = ({ dialect, form, seen }: Case, nth: number): UpstreamRequest => ({
  dialect: dialect.ofOneStream?.() ?? dialect,
  stream: form === 'SSE',
  nth,
  seen: seen.promise,
});

/** The case has its own server, so that broken connections do not affect other cases. */
async function startRaw(one: Case, servers: Map<Case, RawUpstream>): Promise<void> {
  const { upstream } = one.fault;
  if (upstream.speaks !== 'bytes') return;
  const server = await startRawUpstream((connection, { nth }) => {
    one.calls++;
    one.reused ||= nth > 1;
    return upstream.play(connection, requestOf(one, nth));
  });
  servers.set(one, server);
}
