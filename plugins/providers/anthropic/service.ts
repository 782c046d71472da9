import { type KeyHeader, Type, type WireAdapter } from 'signalbox/plugin';
import { BEARER } from '../bearer.ts';

/** A service that serves Claude through the Messages API. */
type ServiceName = 'anthropic' | 'aws' | 'azure' | 'bedrock' | 'vertex';

export const AnthropicSettings = Type.Object(
  {
    service: Type.Union(
      [
        Type.Literal('anthropic'),
        Type.Literal('aws'),
        Type.Literal('azure'),
        Type.Literal('bedrock'),
        Type.Literal('vertex'),
      ],
      {
        default: 'anthropic',
        description:
          'The service. `azure` sends tokens of a token source in `authorization`, and keys in `x-api-key`. `aws` (Claude Platform on AWS), `bedrock` and `vertex` send both in `authorization`. `vertex` has the model in the path.',
      },
    ),
    workspace_id: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,128}$',
        description: 'The workspace that Claude Platform on AWS requires, such as `wrkspc_01AbCd`.',
      }),
    ),
    prompt_cache: Type.Union([Type.Literal('auto'), Type.Literal('by_caller')], {
      default: 'auto',
      description:
        '`auto` caches prompts with tools or earlier answers. `by_caller` caches only prompts with `cache_control`.',
    }),
    threads: Type.Boolean({
      default: false,
      description:
        'Whether the service keeps histories for callers (`thread`), as Anthropic’s own service does. A server that ignores the field would silently lose them.',
    }),
  },
  { additionalProperties: false, description: "Anthropic's Messages API." },
);
export type AnthropicSettings = typeof AnthropicSettings.static;

const X_API_KEY: KeyHeader = { header: 'x-api-key', prefix: '' };

// The headers of @anthropic-ai/sdk 1.14.0, foundry-sdk 1.1.1, aws-sdk 1.1.2, bedrock-sdk 1.1.3 (AnthropicBedrockMantle) and vertex-sdk 1.1.3.
const AUTH: Readonly<Record<ServiceName, WireAdapter['auth']>> = {
  anthropic: X_API_KEY,
  aws: BEARER,
  azure: { ...X_API_KEY, token: BEARER },
  bedrock: BEARER,
  vertex: BEARER,
};

/** The version of the API, which Signalbox uses even if the caller names no version. */
const VERSION = '2023-06-01';
/** The version that Vertex AI expects in the body. */
const VERTEX_VERSION = 'vertex-2023-10-16';
/** The first version that the client for Vertex AI sends under its own name (@anthropic-ai/vertex-sdk 1.0.0). */
const FIRST_SHARED_VERSION = '2026-10-21';

/** How the service of a provider differs from Anthropic's own service. */
export interface ClaudeService {
  readonly auth: WireAdapter['auth'];
  /** Whether the service is Anthropic's own API, with a list of models and speeds. */
  readonly isWhole: boolean;
  /** The headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Adds the headers of a caller whose request is passed on. */
  headersWith(passed: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** Returns the members of a body that name the model, or instead of it the version. @param version the caller's version; empty for none */
  model(upstream: string, version: string): Readonly<Record<string, string>>;
  path(upstream: string, stream: boolean): string;
  readonly countPath: string;
}

export function serviceOf({
  service,
  workspace_id,
}: Pick<AnthropicSettings, 'service' | 'workspace_id'>): ClaudeService {
  const workspace: Record<string, string> =
    workspace_id === undefined ? {} : { 'anthropic-workspace-id': workspace_id };
  if (service === 'vertex') {
    const models = '/publishers/anthropic/models';
    return {
      auth: AUTH.vertex,
      isWhole: false,
      headers: workspace,
      // The version is in the body.
      headersWith: ({ 'anthropic-version': _version, ...passed }) => ({ ...passed, ...workspace }),
      model: (_upstream, version) => ({
        anthropic_version: version >= FIRST_SHARED_VERSION ? version : VERTEX_VERSION,
      }),
      path: (upstream, stream) =>
        `${models}/${encodeURIComponent(upstream).replace('%40', '@')}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
      countPath: `${models}/count-tokens:rawPredict`,
    };
  }
  const headers = { 'anthropic-version': VERSION, ...workspace };
  return {
    auth: AUTH[service],
    isWhole: service === 'anthropic' || service === 'aws',
    headers,
    headersWith: (passed) => ({ ...headers, ...passed, ...workspace }),
    model: (model) => ({ model }),
    path: () => '/messages',
    countPath: '/messages/count_tokens',
  };
}
