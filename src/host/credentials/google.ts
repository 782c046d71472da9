import { optional, text } from '../../core/define/fields.ts';
import { objectOf, parseJson, textOf } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { parseMoment } from '../../core/time/clock.ts';
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

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const METADATA = 'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token';

/** Access tokens of Google Cloud. */
export const google = defineSource(
  'google',
  'Access tokens of Google Cloud, for the scope `cloud-platform`.',
  {
    credentials_file: optional(
      text(
        'The path of the JSON file of a service account, or of the configuration of workload identity federation. Default: the file that `GOOGLE_APPLICATION_CREDENTIALS` names, or else the metadata server of the machine.',
        { minLength: 1, maxLength: 4_096, example: '/run/secrets/google.json' },
      ),
    ),
  },
  async ({ credentials_file: path }, context) => {
    const usual = context.env('GOOGLE_APPLICATION_CREDENTIALS');
    if (path !== undefined) return fromFile(readTokenFile(path, 'credentials_file'), context);
    return usual ? fromFile(readTokenFile(usual, 'GOOGLE_APPLICATION_CREDENTIALS'), context) : fromMachine(context);
  },
);

async function fromFile(text: string, context: SourceContext): Promise<Token> {
  const file = objectOf(parseJson(text));
  if (file.type === 'service_account') return ofServiceAccount(file, context);
  if (file.type === 'external_account') return ofExternalAccount(file, context);
  throw new SourceError(
    'the file with the credentials has no `type` that is supported: `service_account` or `external_account`',
  );
}

const tokenIn = (body: Members, now: number, what: string): Token => ({
  value: textIn(body, 'access_token', what),
  expiresAt: expiryIn(body, now, what),
});

async function fromMachine({ callMetadata, now }: SourceContext): Promise<Token> {
  const at = now();
  const reply = await callMetadata({ url: METADATA, method: 'GET', headers: { 'metadata-flavor': 'Google' } });
  const what = 'the metadata server of Google';
  return tokenIn(readJson(reply, what), at, what);
}

/** Exchanges a token that the service account's key signs, as RFC 7523 defines. */
async function ofServiceAccount(file: Members, { call, now }: SourceContext): Promise<Token> {
  const what = 'the file of the service account';
  const [email, key, url] = ['client_email', 'private_key', 'token_uri'].map((name) => stated(file, name, what));
  // The library is loaded only by servers that need it.
  const { importPKCS8, SignJWT } = await import('jose');
  const at = now();
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: textOf(file.private_key_id) })
    .setIssuer(email!)
    .setAudience(url!)
    .setIssuedAt(Math.floor(at / 1_000))
    .setExpirationTime(Math.floor(at / 1_000) + 3_600)
    .sign(await privateKey(importPKCS8(key!, 'RS256')));
  const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const reply = await call({
    url: url!,
    method: 'POST',
    headers: FORM,
    body: formBody({ grant_type: grant, assertion }),
  });
  return tokenIn(readJson(reply, 'Google'), at, 'Google');
}

/** Returns a text of a file with credentials. @throws SourceError */
function stated(file: Members, name: string, what: string): string {
  const value = textOf(file[name]);
  if (value === '') throw new SourceError(`${what} has no \`${name}\``);
  return value;
}

async function privateKey(reading: Promise<CryptoKey>): Promise<CryptoKey> {
  try {
    return await reading;
  } catch {
    // The message of the library could quote the key.
    throw new SourceError('the `private_key` in the file of the service account is not a key in PEM form');
  }
}

/** Exchanges a token of another issuer, as RFC 8693 defines, and then impersonates a service account if the file says so. */
async function ofExternalAccount(file: Members, context: SourceContext): Promise<Token> {
  const { call, now } = context;
  const what = 'the file of the workload identity federation';
  const [audience, type, url] = ['audience', 'subject_token_type', 'token_url'].map((name) => stated(file, name, what));
  const at = now();
  const body = formBody({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    audience,
    scope: SCOPE,
    subject_token_type: type,
    subject_token: await subjectToken(objectOf(file.credential_source), context),
  });
  const reply = await call({ url: url!, method: 'POST', headers: FORM, body });
  const federated = tokenIn(readJson(reply, 'Google STS'), at, 'Google STS');
  const impersonation = textOf(file.service_account_impersonation_url);
  return impersonation === '' ? federated : impersonate(impersonation, federated, file, context);
}

async function impersonate(url: string, by: Token, file: Members, { call }: SourceContext): Promise<Token> {
  const seconds = Number(objectOf(file.service_account_impersonation).token_lifetime_seconds ?? 3_600);
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${by.value}` };
  const body = JSON.stringify({ scope: [SCOPE], lifetime: `${seconds}s` });
  const what = 'Google IAM';
  const found = readJson(await call({ url, method: 'POST', headers, body }), what);
  const expiresAt = parseMoment(textIn(found, 'expireTime', what));
  if (expiresAt === null) throw new SourceError('the expireTime in the answer of Google IAM is not a time');
  return { value: textIn(found, 'accessToken', what), expiresAt };
}

/** Reads the token of the other issuer from a file or a URL. */
async function subjectToken(source: Members, context: SourceContext): Promise<string> {
  const format = objectOf(source.format);
  const field = format.type === 'json' ? textOf(format.subject_token_field_name) : null;
  const what = 'the subject token';
  if (typeof source.file === 'string') return fieldOf(readTokenFile(source.file, 'credential_source'), field);
  if (typeof source.url === 'string') {
    const isPlain = URL.parse(source.url)?.protocol === 'http:';
    const headers = Object.fromEntries(
      Object.entries(objectOf(source.headers)).map(([name, value]) => [name, textOf(value)]),
    );
    const send = isPlain ? context.callMetadata : context.call;
    const { status, text: body } = await send({ url: source.url, method: 'GET', headers });
    if (status !== 200) throw new SourceError(`the URL of ${what} answers with status ${status}`);
    return fieldOf(body.trim(), field);
  }
  throw new SourceError(
    'the `credential_source` in the file has neither `file` nor `url`: other kinds, such as AWS and executables, are not supported',
  );
}

/** @param field the member of JSON with the token; null if the text is the token */
function fieldOf(found: string, field: string | null): string {
  return field === null ? found : textIn(objectOf(parseJson(found)), field, 'the issuer of the subject token');
}
