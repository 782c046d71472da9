import { deadlinesOf, type Form } from '../../test/fault/faults.ts';
import type { Fault, UpstreamRequest } from '../../test/fault/outcome.ts';
import { type RawUpstream, type ServerConnection, startRawUpstream } from '../../test/fault/raw-upstream.ts';
import { LAST_PIECE } from '../../test/fault/wire.ts';
import { openai } from '../../test/fault/wire-openai.ts';
import { testPolicy } from '../../test/support/policies.ts';

/** A request through a gateway to an upstream that fails in one way. Each trial has its own upstream and model. */
export interface Trial {
  /** The ID, which is also the name of the trial's model. */
  readonly id: string;
  readonly fault: Fault;
  readonly form: Form;
  readonly gateway: 'Signalbox' | 'Portkey';
  /** The caller: a reader of bytes, or the client of the `openai` package. */
  readonly caller: 'reader' | 'client';
  /** The caller resolves this promise when content has arrived. */
  readonly seen: PromiseWithResolvers<void>;
  /** The connections on which a request arrived. */
  readonly lines: Watched[];
}

/** The connection of a request, and whether the upstream itself has ended its answer. */
interface Watched {
  readonly line: ServerConnection;
  isEnded: boolean;
}

/** Whether the gateway still waits for an answer that the upstream has not ended. */
export const isLeftOpen = ({ lines }: Trial): boolean => lines.some(({ line, isEnded }) => !isEnded && !line.isGone);

export interface Stage {
  /** Returns the base URL of a trial's upstream. */
  urlOf(trial: Trial): string;
  stop(): Promise<void>;
}

/**
 * The upstream waits until the caller has read the earlier data before it breaks the connection, but no longer than this time in ms,
 * because a gateway may hold the data back.
 */
const SEEN_MS = 1_000;

const askedOf = ({ form, seen }: Trial, nth: number): UpstreamRequest => ({
  dialect: openai,
  stream: form === 'SSE',
  nth,
  seen: Promise.race([seen.promise, Bun.sleep(SEEN_MS)]),
});

/** Starts the upstreams of all trials. */
export async function setStage(trials: readonly Trial[]): Promise<Stage> {
  const byId = new Map(trials.map((trial) => [trial.id, trial]));
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const trial = byId.get(new URL(request.url).pathname.split('/')[1]!);
      if (trial?.fault.upstream.speaks !== 'http') return new Response(null, { status: 418 });
      await request.text();
      return trial.fault.upstream.answer(askedOf(trial, 1));
    },
  });
  const untrusted = await startRawUpstream(() => {}, { tls: true });
  const raw = new Map<Trial, RawUpstream>();
  await Promise.all(trials.map((trial) => startRaw(trial, raw)));
  const addresses = {
    nobody: `http://127.0.0.1:${portOfNobody()}`,
    unresolvable: 'http://nonexistent.invalid',
    untrusted: untrusted.url,
    plain: `https://127.0.0.1:${http.port}`,
  };
  return {
    urlOf(trial) {
      const { upstream } = trial.fault;
      if (upstream.speaks === 'nothing') return addresses[upstream.address] + openai.base;
      if (upstream.speaks === 'http') return `http://127.0.0.1:${http.port}/${trial.id}${openai.base}`;
      return raw.get(trial)!.url + openai.base;
    },
    async stop() {
      for (const server of [untrusted, ...raw.values()]) server.stop();
      await http.stop(true);
    },
  };
}

async function startRaw(trial: Trial, servers: Map<Trial, RawUpstream>): Promise<void> {
  const { upstream } = trial.fault;
  if (upstream.speaks !== 'bytes') return;
  const server = await startRawUpstream((line, { nth }) => {
    const watched: Watched = { line, isEnded: false };
    trial.lines.push(watched);
    return upstream.play(watch(watched), askedOf(trial, nth));
  });
  servers.set(trial, server);
}

function watch(watched: Watched): ServerConnection {
  const { line } = watched;
  return {
    write(data) {
      watched.isEnded ||= data === LAST_PIECE;
      return line.write(data);
    },
    end() {
      watched.isEnded = true;
      line.end();
    },
    reset() {
      watched.isEnded = true;
      line.reset();
    },
    get isGone() {
      return line.isGone;
    },
  };
}

/** Returns a port on which no program listens any more. */
function portOfNobody(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = server;
  server.stop(true);
  return port;
}

/** Returns Signalbox's policy: a model for each trial, with one endpoint and the deadlines of the fault, and the default retries. */
export function policyOf(trials: readonly Trial[], stage: Stage): string {
  const upstreams = Object.fromEntries(trials.map((trial) => [trial.id, stage.urlOf(trial)]));
  const models = Object.fromEntries(
    trials.map(({ id, fault }) => {
      const { firstTokenMs, idleMs, totalMs } = deadlinesOf(fault);
      const more = `    deadlines: { first_token_ms: ${firstTokenMs}, idle_ms: ${idleMs}, total_ms: ${totalMs} }\n`;
      return [id, { endpoints: [id], more }];
    }),
  );
  return testPolicy(upstreams, models, 'gateway: {}\n');
}
