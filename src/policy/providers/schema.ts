import { type Static, Type } from '@sinclair/typebox';
import { closed, figure, flag, optional, text, whole, word } from '../../core/define/fields.ts';
import {
  excludes,
  listedIn,
  needsOneOf,
  notAMap,
  texts,
  VARIABLE_NAME,
  writtenAs,
} from '../../core/define/policy-words.ts';
import { AbortText } from '../schema/abort.ts';
import { KeyLimitsText } from '../schema/model.ts';
import { PagesMaxText } from '../schema/pages.ts';

const KeyText = closed('A variable with a key of the provider, or with several keys, one a line.', {
  api_key_env: text('Name of the environment variable that holds the key, never the key itself.', {
    ...VARIABLE_NAME,
    example: 'OPENAI_API_KEY',
  }),
  account: optional(
    text(
      "The account at the provider that the key belongs to. Keys of the same account share the provider's prompt cache, and can continue each other's conversations. Default: an account of its own.",
      { minLength: 1, maxLength: 64, example: 'main' },
    ),
  ),
  weight: optional(
    whole('The share of requests, relative to the other keys: with 2, twice as many. Default: 1.', {
      minimum: 1,
      maximum: 1000,
      example: 2,
    }),
  ),
  label: optional(
    text(
      'The name of the key in logs, metrics and lists, never the key itself. If the variable holds several keys, the number of the line follows. Default: the name of the variable.',
      { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', example: 'team-a' },
    ),
  ),
  limits: Type.Optional(KeyLimitsText),
});

const PROVIDER = {
  adapter: optional(
    text('The plugin that speaks the provider’s API. Not needed with `preset`.', {
      minLength: 1,
      example: 'openai-compatible',
    }),
  ),
  preset: optional(
    text(
      'A known service. The preset supplies its adapter, address, key variable and settings. Keys that you state here override the preset.',
      { minLength: 1, example: 'groq' },
    ),
  ),
  base_url: optional(
    text('Base URL of the API. Signalbox appends the path of each call.', 'https://api.openai.com/v1'),
  ),
  base_url_env: optional(
    text(
      'Name of the environment variable that holds the base URL. While it is not set, Signalbox leaves the provider out.',
      { ...VARIABLE_NAME, example: 'OLLAMA_BASE_URL' },
    ),
  ),
  api_key_env: optional(
    text(
      'Name of the environment variable that holds the API key, never the key itself. While it is not set, Signalbox leaves the provider out.',
      {
        ...VARIABLE_NAME,
        ...listedIn('api_keys_env'),
        ...notAMap(
          'write the name of an environment variable of the server: `api_key_env: OPENAI_API_KEY`. On Kubernetes, the manifest of the server sets this variable with `secretKeyRef`',
        ),
        example: 'OPENAI_API_KEY',
      },
    ),
  ),
  api_keys_env: Type.Optional(
    Type.Array(
      Type.Union([text('Name of the environment variable.', { ...VARIABLE_NAME, example: 'OPENAI_API_KEY' }), KeyText]),
      {
        minItems: 1,
        maxItems: 64,
        examples: [['OPENAI_API_KEY', 'OPENAI_API_KEY_2']],
        description:
          'Several keys of the provider, which take turns: names of environment variables, each with one key or with one key a line. Signalbox leaves out a variable that is not set, and the provider if none is set.',
      },
    ),
  ),
  allow_private_network: flag(
    'Allows a host name that resolves to this machine or a private network. `localhost` and numeric addresses need no permission.',
    { default: false, example: true },
  ),
  passthrough: texts(
    ['verbosity'],
    'Request fields that Signalbox does not know and passes on to the provider; `"*"` for all.',
  ),
  cache_ttl_s: figure('How many seconds the provider caches a prompt after its last use; 0 for no cache.', {
    minimum: 0,
    maximum: 86_400,
    default: 300,
  }),
  cache_min_tokens: whole('The shortest prompt that the provider caches, in tokens.', {
    minimum: 1,
    maximum: 10_000_000,
    default: 1024,
  }),
  after_abort: Type.Optional(AbortText),
  pages_max: Type.Optional(PagesMaxText),
  serve: word(
    { always: 'At any time.', when_alone: 'Only while no other provider can serve any model.' },
    'When the provider serves. `always`: at any time. `when_alone`: only while no other provider can serve any model.',
    { default: 'always', example: 'when_alone' },
  ),
  discover: Type.Optional(
    word(
      {
        off: 'Signalbox does not poll the server.',
        serve:
          'Each model of the server is served by name, as `PROVIDER/NAME`. Selectors choose from these models only while no declared model can answer chats.',
        choose: 'Each model of the server is served by name, and selectors choose from these models like all others.',
      },
      'Whether Signalbox finds the models of the server itself. Default: `serve` for the presets `ollama`, `llama-cpp`, `lm-studio` and `vllm`; otherwise `off`.',
      'choose',
    ),
  ),
  serves: Type.Optional(
    Type.Literal('*', {
      examples: ['*'],
      description:
        '`"*"` serves any model that the provider has, as `NAME/ID`. A model with public figures is also served as `ID`.',
    }),
  ),
  settings: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    examples: [{ max_tokens_field: 'max_completion_tokens' }],
    description: "The adapter's own settings. The adapter's schema checks them.",
  }),
};
export const ProviderText = closed('A service or server that runs models.', PROVIDER, {
  ...needsOneOf('adapter', 'preset'),
  ...writtenAs('preset: {value}'),
  dependencies: {
    ...excludes('base_url', 'base_url_env').dependencies,
    ...excludes('api_key_env', 'api_keys_env').dependencies,
  },
});
export type ProviderText = Static<typeof ProviderText>;
