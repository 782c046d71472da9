import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import { shipped } from '../../../plugins/index.ts';
import type { ProviderFailure, StreamPart } from '../../../src/contract/parts.ts';
import type {
  Frame,
  PreparedProvider,
  ProviderCall,
  ProviderPlugin,
  WireAdapter,
} from '../../../src/contract/provider.ts';
import type { ModelRequest } from '../../../src/core/request/model-request.ts';
import { readChatRequest } from '../../../src/dialects/openai-chat/reader.ts';
import {
  type AnswerRoute,
  type AnswerWriter,
  answerRoutesOf,
  type ServedRoute,
} from '../../../src/dialects/surface.ts';
import { SURFACES } from '../../../src/dialects/surfaces.ts';
import { failedError } from '../../../src/gateway/exchange/failure.ts';
import { Affinity } from '../../../src/gateway/prompt/affinity.ts';
import { withReadableState } from '../../../src/gateway/prompt/reasoning-state.ts';
import { sanitizeFailure } from '../../../src/providers/failures.ts';
import { typicalAdapter } from '../../../src/tools/conformance/provider-subject.ts';
import { RECEIPT } from '../../support/caller-message.ts';
import { READER } from '../../support/chat-body.ts';
import { profile } from '../../support/profile.ts';
import { providerCall } from '../../support/provider-call.ts';
import { readOn } from '../../support/read-request.ts';
import { WORST_PARTS } from './parts.ts';
import { mapped, refusable, type WorstReader } from './reader.ts';
import type { Bodies } from './requests.ts';
import { type WorstService, worstOf } from './services.ts';

const DIALECTS = join(import.meta.dir, '../../dialects');

/** The worst bodies of a surface. If it has chats and embeddings, the bodies of embeddings are apart. */
interface WorstBodies {
  readonly BODIES: Bodies;
  readonly EMBED_BODIES?: Bodies;
}

/** The worst bodies, by the name of the surface: the file `worst-bodies.ts` in the folder of its tests. */
export const WORST_BODIES: Readonly<Record<string, WorstBodies>> = Object.fromEntries(
  await Promise.all(
    [...new Glob('*/worst-bodies.ts').scanSync(DIALECTS)].map(async (path): Promise<[string, WorstBodies]> => {
      return [dirname(path), await import(join(DIALECTS, path))];
    }),
  ),
);

/** Returns the worst bodies of a route. */
export function bodiesOf({ surface, route }: ServedRoute): Bodies {
  const { BODIES = {}, EMBED_BODIES = BODIES } = WORST_BODIES[surface.name] ?? {};
  return route.operation === 'embed' ? EMBED_BODIES : BODIES;
}

const PROVIDERS = shipped.flatMap((plugin) => (plugin.kind === 'provider' ? [plugin] : []));

/** The folders of importers. */
export const IMPORTERS = readdirSync(join(import.meta.dir, '../../../src/tools/importers'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const NO_HEADERS = new Headers();
const IDENTITY = { decision: 1, created: 1_790_000_000, model: 'm' };

/** Returns the same body with a last turn of an unknown kind. */
const mistaken = (body: object): object =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, Array.isArray(value) ? [...value, { role: 'none' }] : value]),
  );

/** The readers of requests of a surface: the surface itself, and everything that the gateway reads of each request. */
export const surfaceReaders: readonly WorstReader[] = answerRoutesOf(SURFACES).flatMap((served) => {
  const { surface, route } = served;
  const requests = (read: (request: ModelRequest) => unknown) =>
    mapped(bodiesOf(served), (body) => {
      const { request } = readOn(route, body);
      return () => read(request);
    });
  const affinity = new Affinity(() => 0);
  return [
    {
      name: `${surface.name}: requests`,
      shapes: mapped(bodiesOf(served), (body) => () => readOn(route, body)),
    },
    {
      name: `${surface.name}: requests with a mistake`,
      shapes: mapped(bodiesOf(served), (body) => () => refusable(() => readOn(route, mistaken(body)))),
    },
    { name: `${surface.name}: facts`, shapes: requests((request) => profile(request, READER)) },
    {
      name: `${surface.name}: earlier answers`,
      shapes: requests((request) => [
        affinity.history('key', request).writerOf(0),
        withReadableState(request, () => false),
      ]),
    },
  ];
});

/** Writes an answer as a stream and as JSON, batch by batch. */
function written(route: AnswerRoute, parts: readonly StreamPart[]): void {
  const [body] = Object.values(route.docs.requests);
  const read = readOn(route, { ...body?.value, stream: true });
  const writers: AnswerWriter[] = [
    (read.json ?? route.json)(IDENTITY),
    ...(read.events ? [read.events.writer(IDENTITY)] : []),
  ];
  for (const writer of writers) {
    for (const part of parts) writer.write([part]);
    writer.end(RECEIPT);
  }
}

const CHATS = answerRoutesOf(SURFACES).filter(({ route }) => route.operation === 'chat');

export const writerReaders: readonly WorstReader[] = CHATS.map(({ surface, route }) => ({
  name: `${surface.name}: answers`,
  shapes: mapped(WORST_PARTS, (parts) => () => written(route, parts)),
}));

/** A call for which the adapter must translate everything. */
const callOf = (request: ModelRequest, upstream: string): ProviderCall => ({
  ...providerCall({}, { upstream, model: { capabilities: ['reasoning', 'tools'] } }),
  request,
});

function adapterOf(plugin: ProviderPlugin): PreparedProvider {
  const adapter = typicalAdapter(plugin);
  if (!adapter) throw new Error(`${plugin.name} cannot be prepared`);
  return adapter;
}

/** Makes the request of an adapter, or the whole answer if the adapter has no service. */
const sends = (adapter: PreparedProvider, call: ProviderCall): unknown =>
  adapter.kind === 'wire' ? adapter.request(call) : [...adapter.answer(call)];

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

/** The parts of a stream, passed through or translated. */
function partsOf(adapter: WireAdapter, frames: readonly Frame[], isPassed: boolean): readonly StreamPart[] {
  const reader = adapter.stream(isPassed);
  return frames.flatMap((frame) => reader.read(frame));
}

const framesOf = (events: readonly object[]): readonly Frame[] =>
  events.map((event) => ({ event: '', data: JSON.stringify(event) }));

function serviceReaders(name: string, adapter: WireAdapter, worst: WorstService): readonly WorstReader[] {
  const { events, replies, errors } = worst;
  return [
    {
      name: `${name}: events`,
      shapes: mapped(events, (list) => {
        const frames = framesOf(list);
        return () => [partsOf(adapter, frames, false), partsOf(adapter, frames, true)];
      }),
    },
    {
      name: `${name}: replies`,
      shapes: mapped(replies, (reply) => {
        const body = JSON.stringify(reply);
        return () => [
          adapter.reply(body),
          adapter.reply(body, true),
          adapter.embeddings?.reply(body),
          adapter.tokenCount?.reply(body),
        ];
      }),
    },
    {
      name: `${name}: errors`,
      shapes: mapped(errors, (error) => {
        const body = textOf(error).slice(0, ERROR_MAX);
        return () => errorOf(adapter.failure(400, NO_HEADERS, body, true));
      }),
    },
    ...CHATS.map(({ surface, route }) => ({
      name: `${surface.name}: answers of ${name}`,
      shapes: mapped(events, (list) => {
        const parts = partsOf(adapter, framesOf(list), true);
        return () => written(route, parts);
      }),
    })),
  ];
}

/** How many bytes of an error body are read. */
const ERROR_MAX = 65_536;

/** The error that a caller gets for a failure. */
function errorOf(failure: ProviderFailure): unknown {
  const request = readChatRequest({ model: 'auto', messages: [{ role: 'user', content: 'Hello' }] });
  const attempt = {
    model: 'm',
    provider: 'p',
    upstream: 'u',
    failure: sanitizeFailure(failure, 'sk-key'),
    requestId: null,
  };
  return failedError([attempt], false, request);
}

export const adapterReaders: readonly WorstReader[] = PROVIDERS.flatMap((plugin) => {
  const adapter = adapterOf(plugin);
  const worst = worstOf(plugin.name, adapter.kind === 'wire' ? adapter.dialect : undefined);
  if (!worst) throw new Error(`test/holes/worst/services.ts has nothing of ${plugin.name}`);
  const requests = CHATS.map(({ surface, route }) => ({
    name: `${plugin.name}: requests of ${surface.name}`,
    shapes: mapped(bodiesOf({ surface, route }), (body) => {
      const call = callOf(readOn(route, body).request, worst.upstream);
      return () => sends(adapter, call);
    }),
  }));
  return adapter.kind === 'wire' ? [...requests, ...serviceReaders(plugin.name, adapter, worst)] : requests;
});
