import type {
  ModelServerAdapter,
  ServedFacts,
  ServedList,
  ServedModel,
  ServerRequest,
} from '../../../contract/model-server.ts';
import type { WireAdapter } from '../../../contract/provider.ts';
import type { Provider } from '../../../core/policy/snapshot.ts';
import { messageOf } from '../../../core/thrown.ts';
import { scrub } from '../../../host/telemetry/secrets.ts';
import { arrived } from '../../../providers/arrival.ts';
import type { Dial } from '../../../providers/connection/dial.ts';
import type { UpstreamNetwork } from '../../../providers/connection/network.ts';
import { callHeaders } from '../../../providers/http-request.ts';
import { TextReading } from '../../../providers/read-text.ts';
import type { UpstreamTarget } from '../../../providers/upstream-call.ts';
import { identityOf } from './found-list.ts';

/** The most bytes of an answer. */
const BYTES_MAX = 1_048_576;
/** The most descriptions of single models that one poll requests. The next polls request the others. */
const DETAILS_MAX = 100;

/** A server whose models can be found. */
export interface ModelServer {
  readonly adapter: WireAdapter;
  readonly reader: ModelServerAdapter;
  readonly target: UpstreamTarget;
  /** Connects to the origin of the provider's base URL. */
  readonly origin: Dial;
  /** Connects to the whole base URL. */
  readonly base: Dial;
}

interface ServerContext {
  readonly network: UpstreamNetwork;
  /** Reads an environment variable, for proxies. */
  readonly env: (name: string) => string | undefined;
}

/** Returns how to query a provider for its models; null if its adapter does not know the program that serves them. */
export function modelServerOf(
  { name, baseUrl, allowPrivateNetwork: allowPrivate }: Provider,
  target: UpstreamTarget,
  { network, env }: ServerContext,
): ModelServer | null {
  const { adapter, dial: base } = target;
  if (baseUrl === null || !base || adapter.kind !== 'wire' || !adapter.modelServer) return null;
  const origin = network.dial({ provider: name, baseUrl: new URL(baseUrl).origin, allowPrivate }, env);
  return origin && { adapter, reader: adapter.modelServer, target, origin, base };
}

/** The answers of a server. */
export interface ServerAnswers {
  readonly list: ServedList;
  /** The facts about single models that are not in `list`, by the identity of their weights: those that were known, and new ones. */
  readonly details: ReadonlyMap<string, ServedFacts>;
}

/**
 * Queries a server for its models.
 * @param known the facts about single models that were requested before, by the identity of their weights
 * @returns the answers, or the reason why there is no list. `readServer` never rejects.
 */
export async function readServer(
  server: ModelServer,
  known: ReadonlyMap<string, ServedFacts>,
  signal: AbortSignal,
): Promise<ServerAnswers | string> {
  const { reader } = server;
  const bodies: (string | null)[] = [];
  for (const [at, request] of reader.requests.entries()) {
    const body = await bodyOf(request, server, signal);
    // Without the list, the other answers are of no use.
    if (at === 0 && typeof body !== 'string') return body.reason;
    bodies.push(typeof body === 'string' ? body : null);
  }
  const list = reader.read(bodies);
  if (list === null) return 'the answer is not a list of models';
  return { list, details: await detailsOf(list, server, known, signal) };
}

async function detailsOf(
  { models }: ServedList,
  server: ModelServer,
  known: ReadonlyMap<string, ServedFacts>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ServedFacts>> {
  const details = new Map<string, ServedFacts>();
  const { detail } = server.reader;
  let requests = 0;
  // New models come first: each poll requests the facts of a model without a digest again, because nothing shows that its weights changed.
  const isKnown = (model: ServedModel) => Number(known.has(identityOf(model)));
  for (const model of models.toSorted((one, other) => isKnown(one) - isKnown(other))) {
    const identity = identityOf(model);
    if (!detail || details.has(identity)) continue;
    const facts = known.get(identity);
    if (facts) details.set(identity, facts);
    if ((facts && model.digest !== undefined) || requests >= DETAILS_MAX) continue;
    requests++;
    const body = await bodyOf(detail.request(model.upstream), server, signal);
    if (typeof body === 'string') details.set(identity, detail.read(body));
  }
  return details;
}

/** Returns the body of an answer, or the reason why there is none. */
async function bodyOf(
  { path, below, body }: ServerRequest,
  { adapter, target, origin, base }: ModelServer,
  signal: AbortSignal,
): Promise<string | { readonly reason: string }> {
  try {
    const headers = new Headers(callHeaders(adapter, {}, target, false));
    headers.set('accept', 'application/json');
    const reply = await (below === 'origin' ? origin : base).get(path, headers, signal, body);
    const reading = new TextReading(reply, BYTES_MAX);
    const text = await arrived(() => reading.read());
    if (reply.status < 200 || reply.status > 299) return { reason: `the server answered ${reply.status}` };
    return reading.isCut ? { reason: `the answer has more than ${BYTES_MAX} bytes` } : text;
  } catch (cause) {
    return { reason: signal.aborted ? 'the server did not answer in time' : scrub(messageOf(cause)) };
  }
}
