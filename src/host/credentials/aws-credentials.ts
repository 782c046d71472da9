import type { Members } from '../../core/json/original.ts';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import { parseMoment } from '../../core/time/clock.ts';
import { OutboundError } from '../outbound.ts';
import { type AwsKeys, signedHeaders } from './sigv4.ts';
import { FORM, formBody, readJson, type SourceContext, SourceError, shorten, textIn } from './source.ts';
import { readTokenFile } from './token-file.ts';

/** Credentials of AWS; `expiresAt` is null for long-lived keys. */
export interface AwsCredentials extends AwsKeys {
  readonly expiresAt: number | null;
}

interface AwsSettings {
  readonly region: string;
  readonly role_arn?: string;
  readonly external_id?: string;
}

/**
 * Finds credentials in the order of the AWS SDKs: keys in variables, web identity, the endpoint of a container or pod, and the metadata of
 * the machine. With `role_arn`, assumes that role. Rejects with SourceError or OutboundError.
 */
export async function readAwsCredentials(settings: AwsSettings, context: SourceContext): Promise<AwsCredentials> {
  const found =
    keysInVariables(context) ??
    (await fromWebIdentity(settings, context)) ??
    (await fromContainer(context)) ??
    (await fromMachine(context));
  return settings.role_arn === undefined ? found : assumeRole(found, settings.role_arn, settings, context);
}

function keysInVariables({ env, secret }: SourceContext): AwsCredentials | null {
  const accessKeyId = env('AWS_ACCESS_KEY_ID');
  const secretAccessKey = secret('AWS_SECRET_ACCESS_KEY');
  if (!accessKeyId && !secretAccessKey) return null;
  if (!accessKeyId) throw new SourceError('AWS_SECRET_ACCESS_KEY is set, but not AWS_ACCESS_KEY_ID');
  if (!secretAccessKey) throw new SourceError('AWS_ACCESS_KEY_ID is set, but not AWS_SECRET_ACCESS_KEY');
  return { accessKeyId, secretAccessKey, sessionToken: secret('AWS_SESSION_TOKEN') || null, expiresAt: null };
}

const sessionName = ({ env }: SourceContext): string => env('AWS_ROLE_SESSION_NAME') || 'signalbox';

async function fromWebIdentity({ region }: AwsSettings, context: SourceContext): Promise<AwsCredentials | null> {
  const file = context.env('AWS_WEB_IDENTITY_TOKEN_FILE');
  if (!file) return null;
  const role = context.env('AWS_ROLE_ARN');
  if (!role) throw new SourceError('AWS_WEB_IDENTITY_TOKEN_FILE is set, but not AWS_ROLE_ARN');
  const body = formBody({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: sessionName(context),
    WebIdentityToken: readTokenFile(file, 'AWS_WEB_IDENTITY_TOKEN_FILE'),
  });
  return credentialsOf(await context.call({ url: stsOf(region), method: 'POST', headers: FORM, body }));
}

async function assumeRole(
  keys: AwsKeys,
  role: string,
  { region, external_id }: AwsSettings,
  context: SourceContext,
): Promise<AwsCredentials> {
  const body = formBody({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: sessionName(context),
    ExternalId: external_id,
  });
  const request = { url: stsOf(region), method: 'POST', body } as const;
  const scope = { service: 'sts', region, at: context.now(), keys };
  const headers = signedHeaders({ ...request, headers: { 'content-type': FORM['content-type'] } }, scope);
  return credentialsOf(await context.call({ ...request, headers }));
}

const stsOf = (region: string): string =>
  `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;

const STS = 'AWS STS';

/** Reads an answer of STS, which is XML without attributes in the elements that matter. @throws SourceError */
function credentialsOf({ status, text }: { readonly status: number; readonly text: string }): AwsCredentials {
  const element = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1]?.trim() ?? '';
  if (status !== 200) {
    const reason = shorten(`${element('Code')}: ${element('Message')}`);
    throw new SourceError(`${STS} refuses the request with status ${status}${reason === ':' ? '' : `: ${reason}`}`);
  }
  const expiresAt = parseMoment(element('Expiration'));
  const [accessKeyId, secretAccessKey, sessionToken] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].map(element);
  if (!accessKeyId || !secretAccessKey || !sessionToken || expiresAt === null)
    throw new SourceError(`the answer of ${STS} has no credentials`);
  return { accessKeyId, secretAccessKey, sessionToken, expiresAt };
}

/** ECS, EKS Pod Identity and similar services. */
async function fromContainer(context: SourceContext): Promise<AwsCredentials | null> {
  const { env, secret, call, callMetadata } = context;
  const relative = env('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  const full = env('AWS_CONTAINER_CREDENTIALS_FULL_URI');
  if (!relative && !full) return null;
  const url = URL.parse(relative ? `http://169.254.170.2${relative}` : (full ?? ''));
  if (!url) throw new SourceError('AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL');
  const file = env('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const authorization = file
    ? readTokenFile(file, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE')
    : secret('AWS_CONTAINER_AUTHORIZATION_TOKEN');
  const send = url.protocol === 'https:' && !isLoopbackHost(url.hostname) ? call : callMetadata;
  const reply = await send({ url: url.href, method: 'GET', headers: authorization ? { authorization } : {} });
  return credentialsIn(readJson(reply, 'the credentials endpoint of the container'), 'the credentials endpoint');
}

const MACHINE = 'http://169.254.169.254/latest';

/** The metadata service of EC2, version 2. */
async function fromMachine({ env, callMetadata }: SourceContext): Promise<AwsCredentials> {
  if (env('AWS_EC2_METADATA_DISABLED')?.toLowerCase() === 'true') throw new SourceError(NOTHING);
  const what = 'the metadata service of the machine';
  const ask = async (path: string, method: 'GET' | 'PUT', headers: Readonly<Record<string, string>>) => {
    const reply = await callMetadata({ url: `${MACHINE}/${path}`, method, headers });
    if (reply.status === 404 && method === 'GET') throw new SourceError('the machine has no IAM role');
    if (reply.status !== 200) throw new SourceError(`${what} refuses the request with status ${reply.status}`);
    return reply;
  };
  const session = await ask('api/token', 'PUT', { 'x-aws-ec2-metadata-token-ttl-seconds': '300' }).catch((cause) => {
    if (cause instanceof OutboundError) throw new SourceError(`${NOTHING}: ${cause.message}`, { cause });
    throw cause;
  });
  const headers = { 'x-aws-ec2-metadata-token': session.text.trim() };
  const roles = 'meta-data/iam/security-credentials/';
  const [role = ''] = (await ask(roles, 'GET', headers)).text.trim().split('\n');
  return credentialsIn(readJson(await ask(roles + encodeURIComponent(role), 'GET', headers), what), what);
}

const NOTHING =
  'found no credentials of AWS: no keys in variables, no web identity, no credentials of a container and no metadata service';

/** Reads the JSON of the endpoints of containers and machines. @throws SourceError */
function credentialsIn(body: Members, what: string): AwsCredentials {
  const expiresAt = parseMoment(textIn(body, 'Expiration', what));
  if (expiresAt === null) throw new SourceError(`the Expiration in the answer of ${what} is not a time`);
  return {
    accessKeyId: textIn(body, 'AccessKeyId', what),
    secretAccessKey: textIn(body, 'SecretAccessKey', what),
    sessionToken: textIn(body, 'Token', what),
    expiresAt,
  };
}
