import { optional, text } from '../../core/define/fields.ts';
import { VARIABLE_NAME } from '../../core/define/policy-words.ts';
import {
  defineSource,
  expiryIn,
  FORM,
  formBody,
  readJson,
  type SourceContext,
  SourceError,
  type Token,
  textIn,
} from './source.ts';
import { readTokenFile } from './token-file.ts';

const WHAT = 'Microsoft Entra';
const MANAGED = 'the endpoint of the managed identity';
const MACHINE = 'http://169.254.169.254/metadata/identity/oauth2/token';

/** Access tokens of Microsoft Entra ID. */
export const entra = defineSource(
  'entra',
  'Access tokens of Microsoft Entra ID, for Azure OpenAI and Microsoft Foundry.',
  {
    scope: text('What the tokens are for.', {
      pattern: '^\\S+/\\.default$',
      expected: 'a scope that ends in `/.default`',
      default: 'https://cognitiveservices.azure.com/.default',
      example: 'https://ai.azure.com/.default',
    }),
    tenant: optional(
      text('The ID or domain of the tenant. Default: `AZURE_TENANT_ID`.', {
        pattern: '^[A-Za-z0-9.-]{1,253}$',
        expected: 'the ID or a domain of a tenant',
        example: '11111111-2222-3333-4444-555555555555',
      }),
    ),
    client_id: optional(
      text('The ID of the application, or of a user-assigned managed identity. Default: `AZURE_CLIENT_ID`.', {
        pattern: '^[A-Za-z0-9-]{1,64}$',
        expected: 'the ID of an application',
        example: '66666666-7777-8888-9999-000000000000',
      }),
    ),
    client_secret_env: optional(
      text(
        'Name of the variable with the secret of the application. `NAME_FILE` can name a file instead. Default: none.',
        {
          ...VARIABLE_NAME,
          example: 'AZURE_CLIENT_SECRET',
        },
      ),
    ),
    federated_token_file: optional(
      text(
        'The path of a file with a token of another issuer that the application trusts. Default: `AZURE_FEDERATED_TOKEN_FILE`. Without a secret and a file, the managed identity of the machine is used.',
        { minLength: 1, maxLength: 4_096, example: '/var/run/secrets/azure/tokens/azure-identity-token' },
      ),
    ),
    authority: text('The address that issues tokens. Other clouds of Azure have others.', {
      pattern: '^https://[a-z0-9.-]+$',
      expected: 'an https address without path',
      default: 'https://login.microsoftonline.com',
      example: 'https://login.microsoftonline.us',
    }),
  },
  async (settings, context) => {
    const proof = proofOf(settings, context);
    return proof === null ? fromManagedIdentity(settings, context) : fromTenant(settings, proof, context);
  },
);

interface EntraSettings {
  readonly scope: string;
  readonly tenant?: string;
  readonly client_id?: string;
  readonly client_secret_env?: string;
  readonly federated_token_file?: string;
  readonly authority: string;
}

/** Returns the fields that prove the identity of the application; null for a managed identity. @throws SourceError */
function proofOf(settings: EntraSettings, { env, secret }: SourceContext): Readonly<Record<string, string>> | null {
  const { client_secret_env: variable, federated_token_file: stated } = settings;
  if (variable !== undefined) {
    const value = secret(variable)?.trim();
    if (!value) throw new SourceError(`the variable ${variable} is not set`);
    return { client_secret: value };
  }
  const file = stated ?? env('AZURE_FEDERATED_TOKEN_FILE');
  if (!file) return null;
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: readTokenFile(file, stated === undefined ? 'AZURE_FEDERATED_TOKEN_FILE' : 'federated_token_file'),
  };
}

async function fromTenant(
  { tenant: statedTenant, client_id: statedClient, scope, authority }: EntraSettings,
  proof: Readonly<Record<string, string>>,
  { call, env, now }: SourceContext,
): Promise<Token> {
  const tenant = statedTenant ?? env('AZURE_TENANT_ID');
  const client = statedClient ?? env('AZURE_CLIENT_ID');
  if (!tenant) throw new SourceError('`tenant` is not stated and AZURE_TENANT_ID is not set');
  if (!client) throw new SourceError('`client_id` is not stated and AZURE_CLIENT_ID is not set');
  const at = now();
  const url = `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  const body = formBody({ grant_type: 'client_credentials', client_id: client, scope, ...proof });
  const found = readJson(await call({ url, method: 'POST', headers: FORM, body }), WHAT);
  return { value: textIn(found, 'access_token', WHAT), expiresAt: expiryIn(found, at, WHAT) };
}

/** App Service and Container Apps name their endpoint in variables; virtual machines have it at a fixed address. */
async function fromManagedIdentity(settings: EntraSettings, context: SourceContext): Promise<Token> {
  const { env, secret, callMetadata, now } = context;
  const [endpoint, header] = [env('IDENTITY_ENDPOINT'), secret('IDENTITY_HEADER')];
  const url = URL.parse(endpoint || MACHINE);
  if (!url) throw new SourceError('IDENTITY_ENDPOINT is not a URL');
  url.searchParams.set('api-version', endpoint ? '2019-08-01' : '2018-02-01');
  url.searchParams.set('resource', settings.scope.replace(/\/\.default$/, ''));
  const client = settings.client_id ?? env('AZURE_CLIENT_ID');
  if (client) url.searchParams.set('client_id', client);
  const headers: Readonly<Record<string, string>> = endpoint
    ? { 'x-identity-header': header ?? '' }
    : { metadata: 'true' };
  const at = now();
  const found = readJson(await callMetadata({ url: url.href, method: 'GET', headers }), MANAGED);
  const end = Number(found.expires_on);
  const expiresAt = Number.isFinite(end) && end > 0 ? end * 1_000 : expiryIn(found, at, MANAGED);
  return { value: textIn(found, 'access_token', MANAGED), expiresAt };
}
