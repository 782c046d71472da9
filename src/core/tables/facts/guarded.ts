import type { ModelRequest } from '../../request/model-request.ts';
import { type FactsOf, type FactTable, factReader, NO_TEXTS, textMap } from './define.ts';
import { REQUEST_FACTS } from './request.ts';

/** A request as the caller sent it, without its texts, because the last one stays in memory. */
interface GuardedSource extends Pick<ModelRequest, 'operation' | 'model' | 'stream' | 'settings' | 'routing'> {
  /** The headers of the HTTP request; null if they are unknown. */
  readonly headers: Headers | null;
  /** The size of the body in bytes; 0 if the caller did not state it. */
  readonly bytes: number;
}

/** The facts of a request that `when` of a guard can use. */
export const GUARD_FACTS = {
  operation: { ...REQUEST_FACTS.operation, read: ({ operation }) => operation },
  model: { ...REQUEST_FACTS.model, means: 'The `model` that the caller sent.', read: ({ model }) => model },
  stream: { ...REQUEST_FACTS.stream, read: ({ stream }) => stream },
  user: { ...REQUEST_FACTS.user, read: ({ settings }) => settings.user ?? '' },
  metadata: { ...REQUEST_FACTS.metadata, read: ({ routing }) => textMap(routing.metadata) },
  headers: {
    type: 'map<string, string>',
    means:
      'The headers of the HTTP request, by name in lower case; a missing header reads as the empty text. Headers with credentials are left out.',
    empty: NO_TEXTS,
    read: ({ headers }) => visibleHeaders(headers),
  },
  bytes: { type: 'double', means: 'Size of the body, bytes.', empty: 0, read: ({ bytes }) => bytes },
} as const satisfies FactTable<GuardedSource>;

export type GuardFacts = FactsOf<typeof GUARD_FACTS>;

/** Returns the facts of a request for conditions of guards. */
export const readGuarded = factReader<GuardedSource, typeof GUARD_FACTS>(GUARD_FACTS);

/** Names of headers whose values may be credentials. */
const CREDENTIAL = /auth|cookie|key|payment|secret|signature|token/;

const visibleHeaders = (headers: Headers | null): ReadonlyMap<string, string> =>
  new Map([...(headers ?? [])].filter(([name]) => !CREDENTIAL.test(name)));
